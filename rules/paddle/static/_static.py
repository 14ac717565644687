"""Static graphs: what is minimised, which runs of an executor train, and what they are fed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.programs import Program, Programs, Words
from transpile.plan.query import query
from transpile.records import dataclass, field

ENABLE = External("paddle.enable_static")
EXECUTOR = "paddle.static.Executor"
DATA = "paddle.static.data"
WORDS = Words(
    main="paddle.static.default_main_program",
    startup="paddle.static.default_startup_program",
    made="paddle.static.Program",
    compiled="paddle.static.CompiledProgram",
    guard="paddle.static.program_guard",
)
#: Methods of an executor that train on whole data sets by themselves.
WHOLE = frozenset({"train_from_dataset"})


@dataclass(eq=False)
class Run:
    """A run of the program that is trained.

    Args:
        event: the call.
        feed: what it is fed.
        fetches: what it gives back.
        loaders: the loaders that the feed is drawn from.
    """

    event: Event
    feed: Argument | None
    fetches: Argument | None
    loaders: tuple[Loader, ...] = ()


@dataclass(eq=False)
class Static:
    """What a script does with static graphs.

    Args:
        enabled: where it switches to them.
        minimizes: the calls of an optimizer's ``minimize``, each with its optimizer.
        training: the runs that train.
        whole: the calls that train on a data set by themselves.
        data: the declarations of what is fed.
        programs: which program a value stands for.
    """

    enabled: Event
    minimizes: list[tuple[Event, Value]] = field(default_factory=list)
    training: list[Run] = field(default_factory=list)
    whole: list[Event] = field(default_factory=list)
    data: list[Opaque] = field(default_factory=list)
    programs: Programs | None = None


@query
def static_of(plan: Plan) -> Static | None:
    """What a script does with static graphs; None where it uses none.

    The loaders that its runs are fed from count as training loaders from here on.
    """
    return find_static(plan)


def find_static(plan: Plan) -> Static | None:
    """See :func:`static_of`."""
    calls = list(plan.facts.reached_calls)
    enabled = next((event for event in calls if ENABLE in event.callee), None)
    if enabled is None:
        return None
    found = Static(enabled, programs=Programs(plan, WORDS))
    found.minimizes = list(minimizes(plan, calls))
    keys = {program_key(found, event) for event, _ in found.minimizes}
    for event in calls:
        for value in event.result:
            if isinstance(value, Opaque) and value.node is event.node:
                if DATA in called_names(value):
                    found.data.append(value)
        method = executed(event)
        if method in WHOLE:
            found.whole.append(event)
        elif method == "run" and keys & run_keys(found, event):
            found.training.append(training_run(plan, event))
    return found


def minimizes(plan: Plan, calls: list[Event]) -> Iterator[tuple[Event, Value]]:
    """Every call of ``minimize``, with what it is called on."""
    for event in calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name == "minimize" and callee.operands[0]:
                    yield event, callee.operands[0][0]
                    break


def program_key(static: Static, event: Event) -> tuple[object, ...] | None:
    """The program that is the default one where something is minimised."""
    assert static.programs is not None
    program = static.programs.current(event.stack, 0)
    return program.key if program is not None else None


def executed(event: Event) -> str:
    """The method of an executor that an event calls; empty for anything else."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if any(EXECUTOR in called_names(value) for value in callee.operands[0]):
                return callee.name
    return ""


def run_keys(static: Static, event: Event) -> set[tuple[object, ...] | None]:
    """The programs that a run may train; None among them where one is not known."""
    assert static.programs is not None
    given = event.arguments.get("program", 0)
    found: set[Program | None]
    if given is None or given.values == (Constant(None),):
        found = {static.programs.current(event.stack, 0)}
    else:
        found = static.programs.several(given.values)
    return {
        program.key if program is not None else None
        for program in found
        if program is None or not program.testing
    }


def training_run(plan: Plan, event: Event) -> Run:
    """A run that trains, with the loaders that feed it."""
    feed = event.arguments.get("feed", 1)
    if feed is not None and feed.values == (Constant(None),):
        feed = None
    loaders: list[Loader] = []
    for value in walk_back(feed.values) if feed is not None else ():
        for loader in plan.loaders:
            if value is loader.value and loader not in loaders:
                loader.training = True
                loaders.append(loader)
    return Run(event, feed, event.arguments.get("fetch_list", 2), tuple(loaders))


def static_sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The runs and minimisations that some rule must claim."""
    found = static_of(plan)
    if found is None:
        return
    for run in found.training:
        yield "run of the training program", run.event.module, run.event.node
    for event in found.whole:
        yield "training call", event.module, event.node


# What is fed.


def declared_names(static: Static) -> dict[str, bool | None]:
    """The names of what is fed: whether each has a row for every sample, None if not known."""
    found: dict[str, bool | None] = {}
    for value in static.data:
        name = value.arguments.get("name", 0)
        constant = only_constant(name.values) if name is not None else None
        if constant is None or not isinstance(constant.value, str):
            found[""] = None
        else:
            found[constant.value] = has_batch(value)
    return found


def has_batch(value: Opaque) -> bool | None:
    """Whether the first dimension of a declaration is left open."""
    shape = value.arguments.get("shape", 1)
    if shape is None or len(shape.values) != 1 or not isinstance(shape.values[0], Sequence):
        return None
    elements = shape.values[0].elements
    if not elements:
        return False
    first = only_constant(elements[0])
    return None if first is None else first.value in (None, -1)


def loose_entries(static: Static, run: Run) -> bool:
    """Whether a run that is fed from a loader is fed samples from elsewhere, too."""
    batched = declared_names(static)
    wanted = {id(loader.value) for loader in run.loaders}
    for value in run.feed.values if run.feed is not None else ():
        if not isinstance(value, Mapping):
            continue
        for name, entry in value.entries.items():
            if batched.get(str(name), True) is False:
                continue
            if not any(id(behind) in wanted for behind in walk_back(entry.values)):
                return True
    return False


# What is fetched.


def depends_on_runs(values: Values, runs: list[Run]) -> bool:
    """Whether values come from what training runs gave back."""
    results = {id(value) for run in runs for value in run.event.result}
    return any(id(value) in results for value in walk_back(values))


def decisions(plan: Plan, runs: list[Run]) -> Iterator[Event]:
    """Where training is left, or slowed, by what a run gave back."""
    loops = {id(frame.node) for run in runs for frame in run.event.stack if isinstance(frame, Loop)}
    for event in plan.facts.events:
        if event.detached:
            continue
        if event.kind == "exit" and event.name in ("break", "continue", "return"):
            inside = False
            for frame in event.stack:
                if isinstance(frame, Loop):
                    inside = inside or id(frame.node) in loops
                elif isinstance(frame, Branch) and inside and isinstance(frame.node, cst.If):
                    if depends_on_runs(plan.facts.values_of(frame.node.test), runs):
                        yield event
        elif event.kind == "call" and any(
            method == "step"
            and any("paddle.optimizer.lr.ReduceOnPlateau" in called_names(r) for r in receivers)
            for value in event.result
            for method, receivers in method_calls(value)
        ):
            given = tuple(v for item in event.arguments.items for v in item.values)
            if depends_on_runs(given, runs):
                yield event
    for run in runs:
        for frame in run.event.stack:
            if isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.While)):
                if depends_on_runs(plan.facts.values_of(frame.node.test), runs):
                    yield run.event
            elif isinstance(frame, Loop) and isinstance(frame.node, cst.While):
                if depends_on_runs(plan.facts.values_of(frame.node.test), runs):
                    yield run.event
