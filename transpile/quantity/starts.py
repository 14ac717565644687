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
    return _Starts().of(value)


class _Starts:
    """The answers for what one value is made of.

    What a loop gives back to itself, as ``x = x.to(device)`` does, is zero in each round where it
    was in the round before: it is taken to be, and the value that the loop began with decides.
    """

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}
        self.within: set[int] = set()
        self.supposed = 0

    def of(self, value: Value) -> bool:
        """The answer for one value."""
        if id(value) in self.within:
            self.supposed += 1
            return True
        if id(value) not in self.known:
            before = self.supposed
            self.within.add(id(value))
            found = self.find(value)
            self.within.discard(id(value))
            if found and self.supposed > before:
                # It holds only as far as what was supposed does.
                return True
            self.known[id(value)] = found
        return self.known[id(value)]

    def find(self, value: Value) -> bool:
        """See :meth:`of`."""
        if isinstance(value, Constant):
            return value.value in (0, False)
        if isinstance(value, Sequence):
            return all(map(self.all, value.elements)) and self.all(value.rest)
        if isinstance(value, Mapping):
            return self.all(value.every())
        if not isinstance(value, Opaque):
            return False
        if value.kind == "operation" and value.name == "Multiply":
            return any(operand and self.all(operand) for operand in value.operands)
        calls = method_calls(value)
        receivers = [receiver for _, receiver in calls]
        made = {name.rpartition(".")[2] for name in called_names(value)}
        made |= {name.rstrip("_") for name, _ in calls}
        if made & ZERO:
            return True
        given = value.arguments.positional()
        if receivers and made & SAME:
            return all(bool(receiver) and self.all(receiver) for receiver in receivers)
        if made & (MADE_OF | SAME):
            return bool(given) and self.all(given[0].values)
        if made & FILLED:
            filling = value.arguments.get("fill_value", 1)
            return filling is not None and self.all(filling.values)
        return False

    def all(self, values: Values) -> bool:
        """Whether it is so of all values."""
        return all(map(self.of, values))
