"""Whether a model maps sample i of its inputs to sample i of its outputs, and along which axes."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import (
    Instance,
    Value,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.query import query
from transpile.records import dataclass, field, replace
from transpile.rows.run import outcomes
from transpile.rows.state import Given
from transpile.rows.verdict import (
    NO_SINGLE_ROW,
    Axes,
    Judgement,
    has_several_rows,
    judged,
)
from transpile.rules.pytorch.models._split.axis_counts import known_ranks
from transpile.rules.pytorch.models._split.input_axes import (
    Axis,
    along_streams,
    axes_of,
    each_whole,
    has_open,
    seeded,
    trials,
    without_constants,
)
from transpile.rules.pytorch.models._split.left_behind import left_behind
from transpile.rules.pytorch.models._split.patched import (
    PATCHED,
    is_expression,
    patched_forward,
)
from transpile.rules.pytorch.operations.library import TorchLibrary

Verdict = Literal["apart", "check", "coupled"]
ORDER = {"apart": 0, "check": 1, "coupled": 2}
CONSTANT = "whether a tensor that is no part of the batch has rows for its samples is not known"
OTHER_AXIS = "whether its inputs have the samples along the second axis is not known"


@dataclass(frozen=True, eq=False)
class CallRows:
    """What the calls of a model do with the samples of a batch.

    Args:
        verdict: ``apart``: sample i of the outputs is made of sample i of the inputs alone;
            ``coupled``: it is shown not to be; ``check``: neither is shown.
        inputs: the sample axis of each positional argument; None for one that is given whole.
        keywords: the same for the arguments with keywords.
        outputs: the axis of the output, nested as the outputs are; None for whole parts.
        noise: something is drawn at random.
        batch_norm: it holds batch norm, whose statistics must be those of the whole batch.
        reason: what mixes the samples, or what cannot be analysed.
        module: where that stands.
        node: the operation or call that does.
        agreed: the reason is the same whatever shapes the inputs have.
        cause: of what kind the reason is: ``samples``, ``state``, ``count``, ``noise``, ``layout``,
            ``object`` (of a library, that no table knows) or ``print``.
        possible: there are shapes of the inputs for which the samples are shown to be apart.
        laws: distributions are among the outputs, which stand for their parameters.
        mixing: for each shape of the inputs that mixes them, the operations that do.
    """

    verdict: Verdict
    inputs: tuple[int | None, ...] = (0,)
    keywords: dict[str, int | None] = field(default_factory=dict)
    outputs: Axes = 0
    noise: bool = False
    batch_norm: bool = False
    reason: str = ""
    module: Module | None = None
    node: cst.CSTNode | None = None
    cause: str = ""
    agreed: bool = True
    possible: bool = True
    laws: bool = False
    mixing: tuple[tuple[cst.CSTNode | None, ...], ...] = ()


#: What a call does, and of which ranks its inputs may be.
Along = tuple[CallRows, set[frozenset[tuple[str, int]]]]


@query
def rows_of(plan: Plan, model: Model) -> CallRows:
    """What the calls of a model do with the samples of a batch: the worst of them."""
    return worst(plan, model.value, calls_of(plan, model))


def worst(plan: Plan, called: Value, events: list[Event]) -> CallRows:
    """What some calls of a model, or of one method of it, do: the worst of them."""
    found: list[CallRows] = []
    met: list[tuple[dict[str, Axis], Given]] = []
    for event in events:
        axes = axes_of(plan, event.arguments)
        inputs = (axes, seeded(plan, event.arguments, next(trials(axes))))
        # What is called alike is followed once: the first of the worst calls is what is told.
        if inputs not in met:
            met.append(inputs)
            found.append(rows_of_call(plan, called, event))
    worst_found = max(
        found or [CallRows("check", reason="no call of it is seen")],
        key=lambda one: ORDER[one.verdict],
    )
    return replace(worst_found, laws=any(one.laws for one in found))


def calls_of(plan: Plan, model: Model) -> list[Event]:
    """The calls of a model that a run of the script comes to.

    Where batches are sharded, evaluations see whole ones: the calls that losses are made of.
    """
    found = [event for event in model.forwards if not event.detached] or model.forwards
    if plan.way == "calls":
        return found
    reached = reached_by_losses(plan)
    return [one for one in found if any(id(value) in reached for value in one.result)] or found


def rows_of_call(plan: Plan, model: Value, event: Event) -> CallRows:
    """What one call of a model does."""
    inputs = axes_of(plan, event.arguments)
    patched = patched_forward(plan)
    if patched is not None:
        # Where calls are split, the first batch tells, but not what a function keeps beside.
        verdict: Verdict = "check" if plan.way == "data" or is_expression(patched) else "coupled"
        shown = CallRows(verdict, reason=PATCHED, cause="object")
        return replace(shown, module=patched.module, node=patched.node)
    tried: list[tuple[bool, CallRows]] = []
    shapes: set[frozenset[tuple[str, int]]] = set()
    if is_said_apart(plan, model) and not any(one.place for one in inputs.values()):
        found, _ = rows_along(plan, model, event, next(trials(inputs)))
        # Whether it draws is not said.
        return replace(found, verdict="apart", outputs=0, noise=True, reason="", cause="")
    constant = without_constants(inputs)
    ways = [*([constant] if constant and plan.way == "data" else ()), *trials(inputs)]
    ranks = known_ranks(plan, event.arguments)
    streams = list(along_streams(inputs, ranks))
    supposed = [*([constant] if constant else ()), *each_whole(inputs, ranks), *streams]
    for axes in [*ways, *(supposed if plan.way == "calls" else ())]:
        found, taken = rows_along(plan, model, event, axes)
        if found.verdict == "apart" and (axes is constant or axes in supposed):
            # Of a whole batch it may have the rows, too: the first batch tells.
            if plan.way == "data":
                return found
            reason = OTHER_AXIS if axes in streams else CONSTANT
            found = replace(found, verdict="check", reason=reason, cause="layout")
        elif found.verdict == "apart":
            # What it takes along the first axis alone may be what it is given.
            if shapes <= taken and not (plan.way == "calls" and has_open(event.arguments)):
                return found
            # Where calls are split, the first batch tells; where batches are shared, nothing does.
            verdict = "check" if plan.way == "calls" else "coupled"
            found = replace(found, verdict=verdict, reason=OTHER_AXIS, cause="layout")
        elif axes in supposed and axes is not constant:
            continue
        shapes = shapes or taken
        tried.append((bool(taken), found))
    # Axes along which no run comes to its end are not those of the inputs, if others may be.
    fitting = [found for fits, found in tried if fits] or [found for _, found in tried]
    least = min(fitting, key=lambda one: (ORDER[one.verdict], one.cause != "layout"))
    return replace(least, possible=any(one.possible for _, one in tried))


def is_said_apart(plan: Plan, model: Value) -> bool:
    """Whether the project says of a model of its own code that it keeps the samples apart."""
    if not plan.table.apart:
        return False
    if isinstance(model, Instance):
        return any(map(plan.table.is_apart, model.cls.external_bases()))
    return any(map(plan.table.is_apart, called_names(model)))


def rows_along(plan: Plan, model: Value, event: Event, axes: dict[str, int]) -> Along:
    """What a call does, its inputs having their samples along these axes; and of which ranks."""
    known = known_ranks(plan, event.arguments)
    given = seeded(plan, event.arguments, axes, known)
    ranks = {name: rank for name, rank in known.items() if rank > axes.get(name, rank)}
    followed = _followed_along(plan.facts, model)
    site = (event.module, event.node)
    for inputs, where, told in followed:
        if inputs == (axes, given, ranks) and where in (None, event.node):
            return for_way(plan, told, event)
    found = outcomes(plan.facts, TorchLibrary(), "forward", model, given, site, ranks)
    judgement = judged(found)
    positional = tuple(axes.get(str(place)) for place, _ in enumerate(event.arguments.positional()))
    keywords = {one.keyword: axes.get(one.keyword) for one in event.arguments.items if one.keyword}
    taken = {frozenset(one.ranks.items()) for one in found}
    shown = described(judgement, CallRows("check", positional, keywords))
    along = (with_what_stays(plan, model, shown), taken)
    # Whatever else than that samples are apart names the place of the call.
    where = None if judgement.verdict == "apart" else event.node
    followed.append(((axes, given, ranks), where, along))
    return for_way(plan, along, event)


def for_way(plan: Plan, along: Along, event: Event) -> Along:
    """What was told of a call, as it is where batches are shared: with one row for each sample."""
    rows, taken = along
    if plan.way == "calls" or rows.verdict != "apart" or not has_several_rows(rows.outputs):
        return along
    shown = replace(rows, verdict="coupled", outputs=0, reason=NO_SINGLE_ROW, cause="layout")
    return replace(shown, module=event.module, node=event.node), taken


@query
def _followed_along(facts: Facts, model: Value) -> list[tuple[object, cst.CSTNode | None, Along]]:
    """What was told of calls of a model, by their inputs, and by their place where that is named.

    It grows with every call that is followed: inputs are compared by value, which no key of a query
    does. No plan has a part in it, so that both ways to share out a training are told alike.
    """
    return []


def with_what_stays(plan: Plan, model: Value, rows: CallRows) -> CallRows:
    """What is said of a call that was not followed to its end, with what it may leave behind.

    A first batch, which outputs are compared with, would not show it.
    """
    if rows.verdict != "check":
        return rows
    left = left_behind(plan.facts, model)
    if left is None:
        return rows
    does = "may keep something of the samples" if left.kept else "may hand samples on"
    reason = f"'{left.word}' {does} beside the outputs"
    return replace(
        rows,
        verdict="coupled",
        reason=reason,
        module=left.module,
        node=left.node,
        cause="state" if left.kept else "beside",
    )


def described(judgement: Judgement, rows: CallRows) -> CallRows:
    """A judgement as what is said of a call."""
    problem = judgement.problem
    return replace(
        rows,
        verdict=judgement.verdict,
        outputs=judgement.outputs,
        noise=judgement.noise,
        batch_norm=judgement.batch_norm,
        reason=problem.reason if problem is not None else "",
        module=problem.module if problem is not None else None,
        node=problem.node if problem is not None else None,
        cause=problem.cause if problem is not None else "",
        agreed=judgement.agreed,
        possible=judgement.possible,
        laws=judgement.laws,
        mixing=judgement.mixing,
    )


@query
def are_apart(plan: Plan) -> bool:
    """Whether all models are shown to keep the samples of a batch apart."""
    return all(rows_of(plan, model).verdict == "apart" for model in plan.models if model.forwards)
