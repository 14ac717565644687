"""Numbers that are read off the batches of one worker, and which of them add up over all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import Function, Instance, Opaque, Value, Values
from transpile.plan.effects.effect_search import find_effects
from transpile.plan.effects.effects import Effect, Kind, Vocabulary
from transpile.plan.graph import parents, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import data_sources
from transpile.quantity.keepers import with_kept
from transpile.records import dataclass, field
from transpile.rules.mxnet._roles import (
    MODULES,
    can_reduce,
    made_by,
    receivers_of,
    training_loaders,
    updates,
)
from transpile.rules.mxnet.data._batch_shapes import unshared_noise
from transpile.rules.mxnet.data._draws import holds_batch, noise
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.data._slices import cut_values
from transpile.rules.mxnet.losses._losses import Reduction, count_degree, picks_samples, reduction
from transpile.rules.mxnet.losses._settings import settings

#: Methods that read a number, or numbers, off a device.
READING = ("asscalar", "asnumpy", "item")
REPORTING = frozenset(
    {
        Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.TRACK, Kind.SWITCHED_TRACK, Kind.PLOT,
        Kind.HANDLE, Kind.WRITE,
    }
)  # fmt: skip
#: Those by which objects write or show themselves.
WRITING = frozenset({Kind.PLOT, Kind.WRITE})


@dataclass(frozen=True, eq=False)
class Number:
    """A place where a number is read off a batch of one worker.

    Args:
        module: where it is.
        node: the expression.
        mean: the number is a mean over the batch; else a sum or a count.
        counted: it is a number of samples, which all workers have alike.
    """

    module: Module
    node: cst.BaseExpression
    mean: bool = False
    counted: bool = False


@dataclass(eq=False)
class Numbers:
    """What is known of the numbers of a script.

    Args:
        plan: the plan.
        readings: the places that read numbers which add up, by the values that they give.
        chosen: those that something reported, decided or set is made of, by the identity of the
            node.
    """

    plan: Plan
    readings: dict[int, Number] = field(default_factory=dict)
    chosen: dict[int, Number] = field(default_factory=dict)

    def explain(self, values: Values) -> bool:
        """Whether numbers that come from training data are all made of what adds up.

        The places that they are read at are chosen then.
        """
        found, others = self.behind(values)
        if others:
            return False
        for number in found:
            self.chosen[id(number.node)] = number
        return True

    def counts_all(self, values: Values) -> bool:
        """Whether values are made of numbers that are added up over the workers where they are."""
        return any(id(number.node) in self.chosen for number in self.behind(values)[0])

    def behind(self, values: Values) -> tuple[list[Number], bool]:
        """The numbers that values are made of, and whether a batch is behind them otherwise."""
        found: list[Number] = []
        others = False
        seen: set[int] = set()
        pending: list[Value] = list(values)
        while pending:
            value = pending.pop()
            if id(value) in seen or isinstance(value, (Instance, Function)):
                continue
            seen.add(id(value))
            number = self.readings.get(id(value)) or self.count(value)
            if number is not None:
                found.append(number)
                continue
            if is_batch(self.plan, value):
                others = True
                continue
            for group in parents(value):
                pending.extend(group)
        return found, others

    def count(self, value: Value) -> Number | None:
        """The place that adds a number of samples of a batch to a count."""
        if not isinstance(value, Opaque) or not isinstance(value.node, cst.BaseExpression):
            return None
        sized = value.kind == "attribute" and value.name == "size"
        sized = sized or (value.kind == "operation" and value.name == "len")
        sized = sized or (
            value.kind == "item"
            and any(isinstance(v, Opaque) and v.name == "shape" for v in value.operands[0])
        )
        parent = value.module.source.parent(value.node)
        if isinstance(parent, cst.BinaryOperation):
            # Multiplied already.
            if from_store(self.plan.facts.values_of(parent), "num_workers"):
                parent = value.module.source.parent(parent)
        adds = isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.AddAssign)
        if sized and adds and trained(self.plan, (value,)):
            return Number(value.module, value.node, counted=True)
        return None


@query
def numbers_of(plan: Plan, vocabulary: Vocabulary) -> Numbers:
    """The numbers of a script; found once for all rules."""
    found = Numbers(plan)
    if can_reduce(plan):
        find_readings(found)
        for _, values in reports(plan, vocabulary):
            found.explain(values)
        for values in put_by_index(plan):
            found.explain(values)
        for test in decisions(plan):
            found.explain(test)
        for values in put_into_parameters(plan):
            found.explain(values)
        for _, values in settings(plan):
            if in_training(plan, values):
                found.explain(values)
        for values in divided_by(plan):
            # Equal counts are multiplied in the step itself, if nothing else asks for them.
            if found.counts_all(values) or count_degree(plan, values) < 1:
                found.explain(values)
        if is_followed(plan, set(found.readings)):
            found.chosen.update((id(each.node), each) for each in found.readings.values())
    return found


def put_into_parameters(plan: Plan) -> Iterator[Values]:
    """What training puts into parameters that is made of its batches."""
    from transpile.rules.mxnet.losses._followed import set_parameters

    for _, values in set_parameters(plan):
        if in_training(plan, values):
            yield values


def is_followed(plan: Plan, readings: set[int]) -> bool:
    """Whether an optimizer, a parameter or a step is told what follows from readings."""
    from transpile.rules.mxnet.losses._followed import any_sink

    followed: bool = any_sink(plan, readings)
    return followed


def put_by_index(plan: Plan) -> Iterator[Values]:
    """What training puts into arrays by index, and what says where in containers it puts things."""
    from transpile.rules.mxnet.losses._stored import placed, stored

    for _, values in (*stored(plan), *placed(plan)):
        yield values


def divided_by(plan: Plan) -> Iterator[Values]:
    """What steps of trainers divide by that is read off training batches."""
    for update in updates(plan):
        given = update.event.arguments.get("batch_size", 0) if update.trainer is not None else None
        if given is not None and in_training(plan, given.values):
            yield given.values


def find_readings(numbers: Numbers) -> None:
    """Find the calls that read means or sums of training batches, in every context alike."""
    plan = numbers.plan
    at: dict[int, list[tuple[Event, Reduction]]] = {}
    for event in plan.facts.reached_calls:
        behind = tuple(value for name in READING for value in receivers_of(event, name))
        if behind:
            kind = reduction(plan, behind) if trained(plan, behind) else Reduction.UNKNOWN
            if takes_samples(plan, behind) or kind not in (Reduction.MEAN, Reduction.SUM):
                kind = Reduction.UNKNOWN
            at.setdefault(id(event.node), []).append((event, kind))
    for readings in at.values():
        chosen = [(event, kind) for event, kind in readings if kind is not Reduction.UNKNOWN]
        kinds = {kind for _, kind in chosen}
        if len(kinds) != 1 or not kinds <= {Reduction.MEAN, Reduction.SUM}:
            continue
        if any(apart(plan, event) for event, _ in chosen):
            continue
        if Reduction.SUM in kinds and any(not is_parted(plan, event) for event, _ in chosen):
            continue
        for event, kind in chosen:
            node: cst.CSTNode | None = event.node
            module = event.module
            if len(chosen) < len(readings):
                # What evaluates, too, is asked where training calls it.
                node, module = called_in_training(plan, event, readings)
            if isinstance(node, cst.BaseExpression):
                number = Number(module, node, mean=kind is Reduction.MEAN)
                numbers.readings.update((id(value), number) for value in event.result)


def takes_samples(plan: Plan, values: Values) -> bool:
    """Whether values are made of some samples of a training batch, taken by their places."""
    cut = cut_values(plan)
    return any(
        picks_samples(value) and id(value) not in cut and in_training(plan, (value,))
        for value in walk_back(values, holds_batch)
    )


def is_parted(plan: Plan, event: Event) -> bool:
    """Whether what a call reads adds up over the workers to what one process would read."""
    behind = tuple(value for name in READING for value in receivers_of(event, name))
    return not unshared_noise(plan, behind)


def called_in_training(
    plan: Plan, event: Event, readings: list[tuple[Event, Reduction]]
) -> tuple[cst.CSTNode | None, Module]:
    """The call behind which a number is read off training batches alone, and is the result."""
    for frame in reversed(list(event.calls())):
        if frame.node is None:
            continue
        behind = [
            (other, kind)
            for other, kind in readings
            if any(each.node is frame.node for each in other.calls())
        ]
        if any(kind is Reduction.UNKNOWN for _, kind in behind):
            continue
        given = {id(value) for other, _ in behind for value in other.result}
        place = next((e for e in plan.facts.events if e.node is frame.node), None)
        values = plan.facts.values_of(frame.node)
        if values and place is not None and all(is_given(value, given) for value in values):
            return frame.node, place.module
        break
    return None, event.module


def is_given(value: Value, given: set[int]) -> bool:
    """Whether a value is one of those that were read, perhaps through calls."""
    return id(value) in given or (
        isinstance(value, Opaque)
        and bool(value.inner)
        and all(is_given(inner, given) for inner in value.inner)
    )


def apart(plan: Plan, event: Event) -> bool:
    """Whether a place is reached where one worker's batch says so."""
    return any(
        isinstance(frame, Branch)
        and isinstance(frame.node, cst.If | cst.IfExp)
        and trained(plan, plan.facts.values_of(frame.node.test))
        for frame in event.stack
    )


def trained(plan: Plan, values: Values) -> bool:
    """Whether values depend on training data, and on no other."""
    sources = [loader for loader, _ in data_sources(values, plan)]
    return all(trains(plan, loader) for loader in sources) and in_training(plan, values)


def trains(plan: Plan, loader: Loader) -> bool:
    """Whether a loader gives the batches of a training, that of a module that is stepped, too."""
    return loader.training or any(loader is each for each in training_loaders(plan))


def in_training(plan: Plan, values: Values) -> bool:
    """Whether values depend on training batches, of loaders or cut by index."""
    if any(trains(plan, loader) for loader, _ in data_sources(values, plan)):
        return True
    own = cut_values(plan) | noise(plan) | outputs_in_training(plan)
    return bool(own) and any(id(value) in own for value in walk_back(values, holds_data))


def holds_data(value: Value) -> bool:
    """Whether what a value is made of may be data."""
    return not isinstance(value, (Instance, Function))


def is_batch(plan: Plan, value: Value) -> bool:
    """Whether a value is what a loop draws from training data."""
    own = cut_values(plan) | noise(plan) | outputs_in_training(plan)
    return id(value) in own or (
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(trains(plan, loader) for loader, _ in data_sources((value,), plan))
    )


@query
def outputs_in_training(plan: Plan) -> set[int]:
    """What modules give in the loops in which they are updated, by identity."""
    loops = {id(one.loop.node) for one in updates(plan) if one.trainer is None and one.loop}
    return {
        id(value)
        for event in plan.facts.reached_calls
        if any(id(frame.node) in loops for frame in event.loops())
        and made_by(receivers_of(event, "get_outputs"), MODULES)
        for value in event.result
    }


def reports(plan: Plan, vocabulary: Vocabulary) -> Iterator[tuple[Effect, Values]]:
    """What is printed, logged, tracked, plotted or written, and comes from training data."""
    for effect in find_effects(plan, vocabulary):
        if effect.kind not in REPORTING:
            continue
        for event in effect.events:
            items = [*(each.values for each in event.arguments.items), event.arguments.rest]
            if effect.kind in WRITING:
                items.extend(receivers(event))
            values = with_kept(plan, tuple(value for each in items for value in each))
            if not event.detached and in_training(plan, values):
                yield effect, values
                break


def receivers(event: Event) -> Iterator[Values]:
    """What the method belongs to that is called: the table of ``table.to_csv(path)``."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            yield callee.operands[0]


def decisions(plan: Plan) -> Iterator[Values]:
    """The conditions that depend on training data and lead to something."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind in ("test", "choose") and not event.detached:
            values = plan.facts.values_of(event.node)
            if id(event.node) not in seen and in_training(plan, values):
                seen.add(id(event.node))
                yield values
        for frame in event.stack:
            if isinstance(frame, Branch) and isinstance(frame.node, cst.If):
                if id(frame.node) not in seen:
                    seen.add(id(frame.node))
                    values = plan.facts.values_of(frame.node.test)
                    if in_training(plan, values):
                        yield values
