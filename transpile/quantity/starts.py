"""What a container of numbers holds before anything is added to it."""

from __future__ import annotations

from transpile.facts.values import Constant, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls

from .operations import words

#: Functions whose result is zero everywhere, or says nothing before it is written into.
ZERO = words(
    "zeros zeros_like new_zeros zero_ empty empty_like new_empty Counter defaultdict OrderedDict "
    "dict list deque"
)
#: Functions that make a container of what they are given.
MADE_OF = words("tensor as_tensor array asarray from_numpy Tensor FloatTensor DoubleTensor")
FILLED = words("full full_like new_full")
#: Methods that give the same numbers in another place, type or shape.
SAME = words(
    "to cuda cpu float double half long int bfloat16 type type_as astype clone copy detach numpy "
    "contiguous requires_grad_ view reshape unsqueeze squeeze expand repeat share_memory_ "
    "pin_memory"
)


def starts_at_zero(value: Value) -> bool:
    """Whether a container or tensor is shown to hold nothing but zeros when it is made."""
    if isinstance(value, Constant):
        return value.value in (0, False)
    if isinstance(value, Sequence):
        return all(map(_all_zero, value.elements)) and _all_zero(value.rest)
    if isinstance(value, Mapping):
        return _all_zero(value.every())
    if not isinstance(value, Opaque):
        return False
    if value.kind == "operation" and value.name == "Multiply":
        return any(operand and _all_zero(operand) for operand in value.operands)
    receivers = {name.rstrip("_"): receiver for name, receiver in method_calls(value)}
    made = {name.rpartition(".")[2] for name in called_names(value)} | set(receivers)
    if made & ZERO:
        return True
    given = value.arguments.positional()
    if receivers and made & SAME:
        return all(bool(receiver) and _all_zero(receiver) for receiver in receivers.values())
    if made & (MADE_OF | SAME):
        return bool(given) and _all_zero(given[0].values)
    if made & FILLED:
        filling = value.arguments.get("fill_value", 1)
        return filling is not None and _all_zero(filling.values)
    return False


def _all_zero(values: Values) -> bool:
    return all(map(starts_at_zero, values))
