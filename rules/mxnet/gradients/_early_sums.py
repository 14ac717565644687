"""Where gradients that are read before a step can be added up over the workers first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.facts.walk import descendants
from transpile.plan.data.sources import is_simple
from transpile.plan.model import Plan
from transpile.plan.models.averaging import Small, siblings_before, small_statement
from transpile.plan.roles.backwards import data_sources
from transpile.records import dataclass
from transpile.rules.mxnet._roles import Update, gathers, receivers_of
from transpile.rules.mxnet.losses._losses import is_size

#: What gives gradients to the script.
GRADIENTS = frozenset({"grad", "list_grad"})
#: What adds the gradients of a trainer up, its own part of a step among it.
GATHERINGS = ("allreduce_grads", "_allreduce_grads")


@dataclass(frozen=True, eq=False)
class EarlySum:
    """Where the workers add up what a trainer is about to use.

    Args:
        module: where it is.
        before: the statement that reads gradients first.
        trainer: the expression of the trainer.
        step: its step.
    """

    module: Module
    before: Small
    trainer: cst.BaseExpression
    step: cst.Call


def readers(plan: Plan, update: Update) -> list[Event]:
    """The calls in the loop of a step that read gradients before the workers add them up."""
    if update.loop is None or update.trainer is None:
        return []
    inside = [event for event in plan.facts.events if within(event, update.loop)]
    calls = [event for event in inside if event.kind == "call"]
    if any(map(gathers, calls)):
        first = min((each.order for each in gatherings(plan, update)), default=-1)
        behind = [e.event.order for e in plan.backwards if within(e.event, update.loop)]
        since = max((order for order in behind if order < first), default=first)
        return [event for event in calls if since < event.order < first and reads(event)]
    return [event for event in calls if reads(event)]


def gatherings(plan: Plan, update: Update) -> list[Event]:
    """The calls by which the script adds up the gradients of a trainer before its update."""
    if update.loop is None or update.trainer is None:
        return []
    return [
        event
        for event in plan.facts.reached_calls
        if event.order < update.event.order
        and within(event, update.loop)
        and any(v is update.trainer.value for v in receivers_of(event, "allreduce_grads"))
    ]


def all_gatherings(plan: Plan, update: Update) -> list[Event]:
    """The calls that add up the gradients of a trainer in the loop of an update, or anywhere."""
    if update.trainer is None:
        return []
    return [
        event
        for event in plan.facts.reached_calls
        if update.loop is None or within(event, update.loop)
        for name in GATHERINGS
        if any(v is update.trainer.value for v in receivers_of(event, name))
    ]


def updates_alone(update: Update) -> bool:
    """Whether an update uses the gradients as they are, without adding them up."""
    trainer, event = update.trainer, update.event
    if trainer is None or is_taken_alone(event):
        return False
    return any(value is trainer.value for value in receivers_of(event, "update"))


def is_gathered(plan: Plan, update: Update) -> bool:
    """Whether gradients are added up on every way from the backward passes to an update."""
    branches = {frame for frame in update.event.stack if isinstance(frame, Branch)}
    behind = [
        each.event.order
        for each in plan.backwards
        if each.event.order < update.event.order
        if update.loop is None or within(each.event, update.loop)
    ]
    since = max(behind, default=-1)
    return any(
        since < event.order < update.event.order
        and receivers_of(event, "allreduce_grads")
        and branches.issuperset(frame for frame in event.stack if isinstance(frame, Branch))
        for event in all_gatherings(plan, update)
    )


def adds_up_again(plan: Plan, update: Update) -> bool:
    """Whether a step adds gradients up that the script has added up before."""
    return bool(gatherings(plan, update) and receivers_of(update.event, "step"))


def reads(event: Event) -> bool:
    """Whether a call gives gradients, or clips them."""
    clips = any(
        isinstance(callee, External) and callee.name.endswith("clip_global_norm")
        for callee in event.callee
    )
    return clips or any(receivers_of(event, name) for name in GRADIENTS)


def within(event: Event, loop: Loop) -> bool:
    """Whether an event happens inside a loop."""
    return any(isinstance(frame, Loop) and frame.node is loop.node for frame in event.stack)


def early_sum(plan: Plan, update: Update) -> EarlySum | None:
    """Where to add gradients up before they are read; None where that is not to be seen."""
    found = readers(plan, update)
    step = update.event.node
    statement = small_statement(update.event.module, step)
    if not found or statement is None or not isinstance(step, cst.Call):
        return None
    if gatherings(plan, update):
        return None
    if plan.options.kvstore == "dist_async" or plan.options.compression != "none":
        return None
    if not isinstance(step.func, cst.Attribute) or not is_simple(step.func.value):
        return None
    if step.func.attr.value not in ("step", "update"):
        return None
    starts = set(start_nodes(plan))
    places = {id(node) for event in found for node in shown_at(event)}
    before: Small | None = None
    between: set[int] = set()
    waiting: list[Small] = []
    for earlier in siblings_before(update.event.module, statement):
        inside = {id(node) for node in descendants(earlier)}
        if inside & starts:
            break
        between |= inside
        waiting.append(earlier)
        if inside & places:
            before = earlier
            if plan.way == "data" and any(is_of_share(plan, each) for each in waiting):
                return None
            waiting.clear()
    if before is None or not all({id(n) for n in shown_at(event)} & between for event in found):
        return None
    return EarlySum(update.event.module, before, step.func.value, step)


def is_of_share(plan: Plan, statement: Small) -> bool:
    """Whether a statement asks for numbers of a batch, of which a worker has its share alone."""
    for node in descendants(statement):
        values = plan.facts.values_of(node)
        if values and (is_size(values) or data_sources(values, plan)):
            return True
    return False


def is_taken_alone(event: Event) -> bool:
    """Whether a step goes through the helper of a former conversion already."""
    node = event.node
    function = node.func if isinstance(node, cst.Call) else None
    made = function.func if isinstance(function, cst.Call) else None
    return isinstance(made, cst.Name) and made.value.startswith("step_alone")


def start_nodes(plan: Plan) -> Iterator[int]:
    """The backward passes, and the calls that lead to them."""
    for backward in plan.backwards:
        yield id(backward.event.node)
        for frame in backward.event.stack:
            if isinstance(frame, Call):
                yield id(frame.node)


def shown_at(event: Event) -> Iterator[cst.CSTNode]:
    """A call, and the calls of the project that lead to it."""
    yield event.node
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is not None:
            yield frame.node
