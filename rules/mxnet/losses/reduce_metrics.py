"""Report training metrics over the samples of all workers.

What:
    A metric that is updated in the training loop is read through a helper that adds up what all
    workers have counted. Other numbers of the training loop that are reported are those of one
    worker, and a warning says so. Evaluation goes over all its data in every worker.

Why:
    A worker has seen its part of the training data only.

Before:
    name, accuracy = metric.get()

After:
    name, accuracy = reduce_metric(metric).get()

Refuses when:
    never: metrics that do not add up, and numbers that are no metrics, are reported.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/metric/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import BoundMethod, Opaque, Value, Values
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import (
    all_fits,
    can_reduce,
    drawings,
    fits,
    receivers_of,
    training_loaders,
    updates,
)
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._evaluation import Shared, evaluations
from transpile.rules.mxnet.losses._metrics import is_metric, unusual
from transpile.rules.mxnet.losses._numbers import numbers_of, reports
from transpile.rules.mxnet.losses._stored import placed, stored

CODES = {
    "MX601": "a training metric counts the samples of all workers",
    "MX602": "a reported number is that of one worker",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)
SCORING = frozenset({"score", "predict", "iter_predict"})
READING = frozenset({"get", "get_name_value", "get_global", "get_global_name_value"})


@query
def reduced(plan: Plan) -> list[Event]:
    """The calls that read a metric of the training loop and can be reduced."""
    found = [] if not can_reduce(plan) else list(reading(plan))
    found.extend(read_in_shares(plan, {id(event.node) for event in found}))
    return [event for event in found if is_sum(plan, event)]


def read_in_shares(plan: Plan, known: set[int]) -> Iterator[Event]:
    """The calls that read a metric which each worker updates with its share of an evaluation."""
    shares = evaluations(plan) if plan.options.evaluation == "shard" else []
    counted = {key for each in shares if isinstance(each, Shared) for key in each.metrics}
    for event in plan.facts.events if counted else ():
        if event.kind != "call" or event.detached or id(event.node) in known:
            continue
        receivers = [v for name in READING for v in receivers_of(event, name)]
        if any(id(value) in counted for value in receivers):
            known.add(id(event.node))
            yield event


def metrics_in_training(plan: Plan) -> set[int]:
    """The metrics that are updated in a loop whose batches change parameters."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    if not fits(plan):
        # Passes over the training data beside training: evaluation with it.
        passes = [event for loader in training_loaders(plan) for event in drawings(plan, loader)]
        loops.update(id(event.node) for event in passes)
    found = {
        id(value)
        for event in plan.facts.calls
        if any(isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack)
        for value in updated_by(event)
        if is_metric(value)
    }
    for fit in all_fits(plan):
        metric = fit.argument("eval_metric")
        given = metric.values if metric is not None else ()
        found.update(id(value) for value in walk_back(given) if is_metric(value))
    return found


def foreign_readings(plan: Plan) -> Iterator[Event]:
    """The calls that read a metric of another library which is updated with training batches."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    counted = {
        id(value)
        for event in plan.facts.calls
        if any(isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack)
        for value in receivers_of(event, "update")
        if called_names(value) and not is_metric(value)
    }
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        if id(event.node) not in seen:
            if any(id(v) in counted for name in READING for v in receivers_of(event, name)):
                seen.add(id(event.node))
                yield event


def metrics_of(event: Event, name: str) -> Values:
    """The metrics whose method a call calls, those of the script's own classes included."""
    own = tuple(
        callee.receiver
        for callee in event.callee
        if isinstance(callee, BoundMethod) and callee.function.name == name
    )
    return (*receivers_of(event, name), *(one for one in own if is_metric(one)))


def updated_by(event: Event) -> Iterator[Value]:
    """The metrics that a call may update: of its own, or of what a module has put out."""
    yield from metrics_of(event, "update")
    yield from metrics_of(event, "update_dict")
    if receivers_of(event, "update_metric"):
        for argument in event.arguments.items:
            yield from argument.values


def reading(plan: Plan) -> Iterator[Event]:
    """The calls that read a metric which is updated in training."""
    trained = metrics_in_training(plan)
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        if id(event.node) in seen:
            continue
        receivers = [v for name in READING for v in metrics_of(event, name)]
        if any(copied(value) for value in receivers):
            continue
        if any(id(value) in trained for value in receivers):
            seen.add(id(event.node))
            yield event


def is_sum(plan: Plan, event: Event) -> bool:
    """Whether the metric that a call reads is a sum over a count."""
    receivers = tuple(value for word in READING for value in metrics_of(event, word))
    held = tuple(
        value
        for added in plan.facts.calls
        if any(value in receivers for value in receivers_of(added, "add"))
        for argument in added.arguments.items
        for value in argument.values
    )
    return not unusual(plan, (*receivers, *held)) and isinstance(
        getattr(event.node, "func", None), cst.Attribute
    )


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each reading of a training metric, and each number that is reported."""
    chosen = {id(event.node) for event in reduced(plan)}
    for event in reduced(plan):
        yield Ruling.apply(
            "MX601", event, "the metric counts the samples of all workers", data=event
        )
    for event in reading(plan):
        if id(event.node) not in chosen:
            yield one_worker(event, "this training metric")
    for event in foreign_readings(plan):
        yield one_worker(event, "this training metric")
    for event in done(plan):
        yield Ruling.done("MX601", event, "it counts all workers' samples")
    yield from reported(plan)
    yield from partial_passes(plan)
    for update in updates(plan):
        followed = any(loader.training for loader in update.loaders)
        if update.trainer is not None and update.loaders and not followed:
            yield one_worker(update.event, "what is read off the batches of this loop")


def partial_passes(plan: Plan) -> Iterator[Remark]:
    """Passes over the training data beside training, which see one worker's part of it."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    if not updates(plan) and not fits(plan):
        return
    fitted = {id(fit.event.node) for fit in fits(plan)}
    seen: set[int] = set()
    for loader in training_loaders(plan):
        passes = [event for event in drawings(plan, loader) if id(event.node) not in loops]
        for event in plan.facts.events:
            if any(receivers_of(event, name) for name in SCORING) and event.kind == "call":
                given = [v for each in event.arguments.items for v in each.values]
                if any(value is loader.value for value in given):
                    passes.append(event)
        for event in passes:
            inside = any(
                isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack
            )
            if inside or event.detached or id(event.node) in seen | fitted:
                continue
            if within_helper(event):
                continue
            seen.add(id(event.node))
            yield one_worker(event, "what this pass over the training data sees")


def within_helper(event: Event) -> bool:
    """Whether a pass only counts batches, to agree on their number."""
    return event.name == "" and isinstance(event.node, cst.CompFor) and counts(event.node)


def counts(node: cst.CompFor) -> bool:
    """Whether a comprehension does not look at what it goes through."""
    return isinstance(node.target, cst.Name) and node.target.value == "_"


def done(plan: Plan) -> Iterator[Event]:
    """The readings of what a function has added up over the workers."""
    for event in plan.facts.reached_calls:
        receivers = [v for name in READING for v in receivers_of(event, name)]
        if any(copied(value) for value in receivers):
            yield event


def copied(value: object) -> bool:
    """Whether a value is a copy of a metric."""
    return isinstance(value, Opaque) and "copy.deepcopy" in called_names(value)


def one_worker(event: Event, what: str) -> Remark:
    """The warning about a number that is not that of all workers."""
    return Remark.warn(
        "MX602",
        event,
        f"{what} is that of one worker's part of the training data",
        "take it for what one worker has seen, or report a metric",
    )


def reported(plan: Plan) -> Iterator[Remark]:
    """Prints and messages with numbers of one worker's batches that cannot be added up."""
    numbers = numbers_of(plan, VOCABULARY)
    for effect, values in reports(plan, VOCABULARY):
        if not (can_reduce(plan) and numbers.explain(values)):
            yield one_worker(effect.event, "a number that is reported here")
    seen: set[int] = set()
    for event, values in stored(plan):
        if id(event.node) not in seen and not (can_reduce(plan) and numbers.explain(values)):
            seen.add(id(event.node))
            yield one_worker(event, "what is put by index into an array here")
    for event, values in placed(plan):
        if id(event.node) not in seen and not (can_reduce(plan) and numbers.explain(values)):
            seen.add(id(event.node))
            yield one_worker(event, "what is put into a container here")


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the metric that is read."""
    event: Event = ruling.data
    function = event.node.func  # type: ignore[attr-defined]
    assert isinstance(function, cst.Attribute)
    yield Helper("reduce_metric", event.module)
    opening = f"{plan.names_in(event.module).fresh('reduce_metric')}("
    for edit in wrap_expression(event.module.source, function.value, opening, ")"):
        yield In(event.module, edit)
