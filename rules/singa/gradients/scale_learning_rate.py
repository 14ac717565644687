"""Let the learning rate follow the larger global batch.

What:
    With ``--batch-size per-device --scale-lr linear`` the learning rate that an optimizer or its
    schedule begins with is multiplied by the number of processes; with ``sqrt`` by its root.

Why:
    N processes that each take the script's batch train with an N times larger batch.

Before:
    sgd = opt.SGD(lr=0.005, momentum=0.9)

After:
    sgd = opt.SGD(lr=scale_learning_rate(0.005), momentum=0.9)

Refuses when:
    the learning rate is not written in the call that makes the optimizer or its schedule.

Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv:1706.02677), section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, Opaque
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa._roles import optimizers
from transpile.rules.singa.gradients.share_optimizer import is_shared

CODES = {
    "SG241": "the learning rate follows the global batch",
    "SG242": "the learning rate cannot be followed",
}
#: Schedules whose every rate is a multiple of the one that they begin with.
PROPORTIONAL = frozenset({"singa.opt.Constant", "singa.opt.ExponentialDecay"})
HELPERS = {"linear": "scale_learning_rate", "sqrt": "scale_learning_rate_by_root"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each optimizer."""
    if plan.options.scale_lr == "none" or is_shared(plan):
        return
    for event in optimizers(plan):
        place = rate_of(event)
        yield Ruling(
            "SG241" if place is not None else "SG242",
            Verdict.APPLY if place is not None else Verdict.REFUSE,
            event.module,
            event.node,
            (
                "the learning rate follows the number of processes"
                if place is not None
                else "the learning rate of this optimizer is not written here, nor is a schedule "
                "that begins with it"
            ),
            "write lr= out, or choose --scale-lr none and multiply it by hand",
            data=place,
        )


def rate_of(event: Event) -> tuple[Module, cst.BaseExpression] | None:
    """Where the learning rate of an optimizer, or of its schedule, is written."""
    rate = event.arguments.get("lr", 0)
    if rate is None or not isinstance(rate.node, cst.BaseExpression):
        return None
    schedules = [value for value in rate.values if is_schedule(value)]
    if schedules:
        return first_of(schedules) if len(schedules) == len(rate.values) == 1 else None
    if all(isinstance(value, (Constant, Opaque)) and not made(value) for value in rate.values):
        return event.module, rate.node
    return None


def is_schedule(value: object) -> bool:
    """Whether a value is a schedule of the library that is proportional to where it begins."""
    return isinstance(value, Opaque) and bool(PROPORTIONAL.intersection(called_names(value)))


def made(value: object) -> bool:
    """Whether a value is made by a call, and may be anything."""
    return (
        isinstance(value, Opaque)
        and value.kind == "call"
        and called_names(value) != ("builtins.float",)
    )


def first_of(schedules: Sequence[object]) -> tuple[Module, cst.BaseExpression] | None:
    """Where the rate is written that a schedule begins with."""
    schedule = schedules[0]
    assert isinstance(schedule, Opaque)
    begin: Argument | None = schedule.arguments.get("init_value", 0)
    if begin is None or not isinstance(begin.node, cst.BaseExpression):
        return None
    return schedule.module, begin.node


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the rate."""
    module, node = ruling.data
    helper = HELPERS[plan.options.scale_lr]
    yield Helper(helper, module)
    name = plan.names_in(module).fresh(helper)
    for edit in wrap_expression(module.source, node, f"{name}(", ")"):
        yield In(module, edit)
