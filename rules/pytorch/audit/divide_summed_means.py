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

from transpile.audit.model import Audit
from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Value, Values
from transpile.finding import Level
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Kind
from transpile.plan.graph import walk_back
from transpile.rule import Remark
from transpile.rules.pytorch._quantity import Kind as QuantityKind
from transpile.rules.pytorch._quantity import quantity
from transpile.rules.pytorch.agreement._together import conditions_of
from transpile.rules.pytorch.audit._data import engines
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY

CODES = {"AU603": "a mean is summed over the processes and not divided"}
ONLY_WARNS = True
REPORTS = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.TRACK)
ALL_REDUCE = "torch.distributed.all_reduce"
SUM = "torch.distributed.ReduceOp.SUM"
#: Operators and methods through which a number is reported as it is.
KEEPING = frozenset(
    {"format", "Compare", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"}
)
KEEPING_METHODS = frozenset(
    {"item", "detach", "cpu", "clone", "float", "double", "tolist", "numpy", "to", "mean", "sum"}
)
KEEPING_CALLS = frozenset(
    {"builtins.float", "builtins.round", "builtins.str", "torch.tensor", "torch.as_tensor"}
)


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each sum of means that is shown or decides."""
    if engines(audit):
        return
    sums = summed_means(audit)
    if not sums:
        return
    said: set[int] = set()
    for values in shown(audit):
        for value in walk_back(values, keeps):
            event = sums.get(id(value))
            if event is not None and id(event.node) not in said:
                said.add(id(event.node))
                yield Remark(
                    "AU603",
                    Level.WARNING,
                    event.module,
                    event.node,
                    "this adds up the means of all processes, and the sum is reported as it is: it "
                    "is as many times too large as there are processes",
                    "divide it by dist.get_world_size() behind the all-reduce",
                )


def summed_means(audit: Audit) -> dict[int, Event]:
    """The all-reduces that add up means over batches, by the identity of what they leave."""
    found: dict[int, Event] = {}
    for event in audit.facts.calls_to(ALL_REDUCE):
        operation = event.arguments.get("op", 1)
        if operation is not None and operation.values != (External(SUM),):
            continue
        tensor = event.arguments.get("tensor", 0)
        for value in tensor.values if tensor is not None else ():
            if any(is_mean(audit, behind) for behind in walk_back((value,), keeps)):
                found[id(value)] = event
    return found


def is_mean(audit: Audit, value: Value) -> bool:
    """Whether a value is a mean over this process's batch."""
    known = quantity(audit.plan, (value,))
    return known.kind is QuantityKind.PART and {term.degree for term in known.terms} == {0}


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
