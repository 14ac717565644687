"""Find means that are summed over the processes and never divided.

What:
    A mean over this process's batch is all-reduced with a sum, and the result is printed, logged or
    tracked, or decides something, without having been divided by anything since.

Why:
    The sum of N means is N times the mean: the loss that is reported grows with the number of
    processes, and thresholds that it is compared with mean something else on every cluster.

Before:
    dist.all_reduce(loss)
    print(loss.item())

After:
    dist.all_reduce(loss)
    print(loss.item() / dist.get_world_size())

Refuses when:
    never: it is a warning.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transpile.audit.model import Audit
from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Settled, Value, Values, only_constant
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Kind
from transpile.plan.graph import called_names, walk_back
from transpile.quantity.asking import Kind as QuantityKind
from transpile.quantity.asking import quantity
from transpile.rule import Remark
from transpile.rules.pytorch.agreement._together import agreed_values, conditions_of
from transpile.rules.pytorch.audit._data import Sharing, engines, loaders_of
from transpile.rules.pytorch.audit._fixes import division
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

if TYPE_CHECKING:
    from typing import TypeGuard

CODES = {"AU603": "a mean is summed over the processes and not divided"}
ONLY_WARNS = True
REPORTS = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.TRACK)
ALL_REDUCE = "torch.distributed.all_reduce"
SUM = "torch.distributed.ReduceOp.SUM"
DIVISIONS = frozenset({"Divide", "DivideAssign"})
ADDITIONS = frozenset({"Add", "AddAssign"})
SUMS = DIVISIONS | ADDITIONS | {"Multiply", "MultiplyAssign"}
MEAN_LOSSES = frozenset(
    f"torch.nn.functional.{word}"
    for word in (
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
    )
)  # fmt: skip
LOSS_MODULES = frozenset(
    f"torch.nn.{word}"
    for word in (
        "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss",
        "BCEWithLogitsLoss", "KLDivLoss",
    )
)  # fmt: skip
#: Operators and methods through which a number is reported as it is.
KEEPING = frozenset(
    {"format", "Compare", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"}
)
KEEPING_METHODS = frozenset(
    {
        "item", "data", "detach", "cpu", "cuda", "clone", "float", "double", "tolist", "numpy",
        "to", "mean", "sum",
    }
)  # fmt: skip
KEEPING_CALLS = frozenset(
    {"builtins.float", "builtins.round", "builtins.str", "torch.tensor", "torch.as_tensor"}
)


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each sum of means that is shown or decides."""
    if engines(audit):
        return
    sums = summed_numbers(audit)
    if not sums:
        return
    said: set[int] = set()
    keeps = Keeping(audit)
    for values in shown(audit):
        made_of = list(walk_back(values, keeps.enters))
        divided = any(is_divided(value) for value in made_of)
        averaged = {
            id(one)
            for value in walk_back(values)
            if is_divided(value) and keeps.counts_processes(value.operands[1])
            for one in value.operands[0]
        }
        for value in made_of:
            event = sums.get(id(value))
            if event is None or id(event.node) in said or id(value) in averaged:
                continue
            if is_mean_of_part(audit, keeps, value, divided):
                said.add(id(event.node))
                yield Remark.warn(
                    "AU603",
                    event,
                    "this adds up the means of all processes, and the sum is reported as it is: it "
                    "is as many times too large as there are processes",
                    "divide it by dist.get_world_size() behind the all-reduce",
                    division(event),
                )


def summed_numbers(audit: Audit) -> dict[int, Event]:
    """The all-reduces that add something up, by the identity of what they leave."""
    found: dict[int, Event] = {}
    for event in audit.facts.calls_to(ALL_REDUCE):
        operation = event.arguments.get("op", 1)
        if operation is not None and operation.values != (External(SUM),):
            continue
        tensor = event.arguments.get("tensor", 0)
        for value in tensor.values if tensor is not None else ():
            found[id(value)] = event
    return found


def is_mean_of_part(audit: Audit, keeps: Keeping, reduced: Value, divided: bool) -> bool:
    """Whether what is summed over processes is a mean on each of them.

    A sum of means over batches is one as well where it is `divided` once it has been summed, or
    each of its terms is.
    """
    behind = list(walk_back((reduced,), keeps.sums))
    if any(is_mean(audit, value) or keeps.is_share(value) for value in behind):
        return True
    added = any(isinstance(v, Opaque) and v.name in ADDITIONS for v in behind)
    divided = divided or not added or any(is_divided(value) for value in behind)
    return divided and any(is_loss(value) for value in behind)


def is_mean(audit: Audit, value: Value) -> bool:
    """Whether a value is a mean over this process's batch."""
    known = quantity(audit.plan, (value,))
    return known.kind is QuantityKind.PART and {term.degree for term in known.terms} == {0}


def is_loss(value: Value) -> bool:
    """Whether a value is a loss of the framework that is a mean unless told otherwise."""
    if not isinstance(value, Opaque):
        return False
    made = [value, *(one for one in value.callee if isinstance(one, Opaque))]
    for one in made:
        known = MEAN_LOSSES if one is value else LOSS_MODULES
        if not known.isdisjoint(called_names(one)):
            told = one.arguments.get("reduction", 99)
            constant = only_constant(told.values) if told is not None else None
            return told is None or (constant is not None and constant.value == "mean")
    return False


def is_divided(value: Value) -> TypeGuard[Opaque]:
    """Whether a value is a quotient."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name in DIVISIONS


class Keeping:
    """Answers through what a number is still what it was, or its sum or part.

    Args:
        audit: the script.
    """

    def __init__(self, audit: Audit) -> None:
        self.sizes = {name for name, word in audit.vocabulary.calls.items() if word == "world_size"}
        self.agreed = agreed_values(audit.plan)
        loaders = loaders_of(audit)
        self.shared = {
            id(loader.value)
            for loader in audit.plan.loaders
            if loaders.sharing(loader) is Sharing.SHARE
        }

    def enters(self, value: Value) -> bool:
        """Whether what a value is made of is looked at."""
        if not isinstance(value, Opaque):
            return not isinstance(value, External)
        if value.kind == "operation" and value.name in ADDITIONS:
            return True
        if value.kind == "operation" and value.name in SUMS:
            return not any(self.counts_processes(operand) for operand in value.operands[1:])
        return keeps(value)

    def sums(self, value: Value) -> bool:
        """Whether a value is its parts, or their sum: with weights it is one over samples."""
        if isinstance(value, Opaque) and value.kind == "operation":
            if value.name in ("Multiply", "MultiplyAssign"):
                return False
        return self.enters(value)

    def is_share(self, value: Value) -> bool:
        """Whether a value is a quotient by how much data this process has."""
        if not is_divided(value) or self.counts_processes(value.operands[1]):
            return False
        return any(
            id(one) in self.shared or (isinstance(one, Opaque) and one.kind == "element")
            for one in walk_back(value.operands[1])
        )

    def counts_processes(self, values: Values) -> bool:
        """Whether values are the number of processes, or of what all of them have."""
        return any(
            isinstance(value, Settled)
            or id(value) in self.agreed
            or not self.sizes.isdisjoint(called_names(value))
            for value in walk_back(values, is_no_element)
        )


def is_no_element(value: Value) -> bool:
    """Whether a value is not drawn from data, whose parts say nothing of how many there are."""
    return not isinstance(value, Opaque) or value.kind != "element"


def shown(audit: Audit) -> Iterator[Values]:
    """What is reported, and what conditions that all processes meet at ask for."""
    for effect in find_effects(audit.plan, VOCABULARY):
        if effect.kind in REPORTS:
            for event in effect.events:
                yield tuple(v for item in event.arguments.items for v in item.values)
    for condition in conditions_of(audit.plan):
        if condition.decides:
            yield audit.facts.values_of(condition.test)


def keeps(value: Value) -> bool:
    """Whether a number is still the same number in what a value is made of."""
    if not isinstance(value, Opaque):
        return not isinstance(value, External)
    if value.kind == "operation":
        return value.name in KEEPING
    if value.kind == "call":
        return any(
            (isinstance(callee, Opaque) and callee.name in KEEPING_METHODS)
            or (isinstance(callee, External) and callee.name in KEEPING_CALLS)
            for callee in value.callee
        )
    return value.kind in ("attribute", "item") and value.name in ("", *KEEPING_METHODS)
