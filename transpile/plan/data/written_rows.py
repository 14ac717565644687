"""Tensors whose rows differ by what was written into them, such as random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.plan.graph import method_calls
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Methods, and functions for layers, that write one number everywhere.
ONE_NUMBER = frozenset({"zero_", "fill_", "zeros_", "ones_", "constant_"})
#: Methods with an underscore at the end that write nothing.
NOTHING = frozenset(
    {
        "requires_grad_", "detach_", "retain_grad_", "rename_", "share_memory_", "squeeze_",
        "unsqueeze_", "resize_",
    }
)  # fmt: skip
#: Methods that draw what they write, whatever numbers they are given.
DRAWING = frozenset(
    {
        "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_",
        "geometric_",
    }
)  # fmt: skip


@query
def written_rows(plan: Plan, ahead: bool) -> set[int]:
    """The identities of tensors that something else than one number is written into.

    Args:
        plan: the plan.
        ahead: only ahead of the training; what each step fills anew is not meant.
    """
    return {
        id(value)
        for event in plan.facts.calls
        if not event.detached and not (ahead and plan.in_training(event.stack))
        for value in written(event)
    }


def written(event: Event) -> Iterator[Value]:
    """The tensors whose rows a call makes differ."""
    for callee in event.callee:
        word = callee.name.rpartition(".")[2] if isinstance(callee, (External, Opaque)) else ""
        if not word.endswith("_") or word.endswith("__") or word in ONE_NUMBER | NOTHING:
            continue
        given = [item.values for item in event.arguments.items]
        if isinstance(callee, External):
            yield from given[0] if given else ()
        elif isinstance(callee, Opaque) and callee.kind == "attribute":
            if word in DRAWING or not all(map(are_plain, given)):
                yield from behind(callee.operands[0])


def are_plain(values: Values) -> bool:
    """Whether an argument is one number, which changes all rows alike."""
    return bool(values) and all(isinstance(value, Constant) for value in values)


def behind(values: Values) -> Iterator[Value]:
    """Tensors, and those that a chain of methods in place was begun with."""
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        for word, inner in method_calls(value):
            if word.endswith("_"):
                pending.extend(inner)
