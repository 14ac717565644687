"""Where numbers of training batches are shown, kept or decided on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Function, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.contents import is_array, made_within, written
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.losses._averages import Averaged, averaged
from transpile.rules.fluid.programs._runs import Run

#: What counts numbers to show them later, or draws them.
SHOWING_OBJECTS = (
    "paddle.fluid.metrics.", "paddle.fluid.average.", "paddle.fluid.evaluator.",
    "paddle.utils.plot.", "paddle.utils.Ploter", "paddle.v2.plot.",
)  # fmt: skip
SHOWING = ("logging.", "matplotlib.", "pylab.")
WRITING = frozenset(
    {
        "builtins.print", "sys.stdout.write", "sys.stderr.write", "numpy.save", "numpy.savez",
        "numpy.savetxt", "json.dump", "json.dumps", "pickle.dump",
    }
)  # fmt: skip
METHODS = frozenset(
    {
        "info", "warning", "write", "writelines", "writerow", "debug", "error", "add_scalar",
        "plot", "set_postfix", "set_description",
    }
)  # fmt: skip
#: Questions whose answer for a share is as good as that for the batch.
FAILURES = frozenset({"math.isnan", "math.isinf", "numpy.isnan", "numpy.isinf", "numpy.isfinite"})
DECIDED = (
    "this is decided on what is fetched in line %d: each trainer sees its own share of the batch"
)
PRINTED = "what is fetched and printed here is of trainer 0's share of each batch"
SHOWN = "this shows what is fetched in line %d: it is of trainer 0's share of the batch"
DECIDED_BY_BATCH = (
    "this is decided on the batch that line %d is fed: each trainer sees its own share of it"
)
SHOWN_OF_BATCH = "this shows what the batch that line %d is fed tells: trainer 0 has a share of it"


def reported(plan: Plan) -> Iterator[tuple[Event, str]]:
    """Where numbers of a training batch are used that do not mean the whole of it any more."""
    seen: set[int] = set()
    shared = {id(each.event.node): each for each in averaged(plan)}
    yield from read_off_batches(plan, seen)
    for run in roles_of(plan).training:
        if run.whole:
            if shows_itself(run):
                yield run.event, PRINTED
            continue
        averages = shared.get(id(run.event.node))
        if run.event.arguments.get("fetch_list", 2) is None or (averages and averages.whole):
            continue
        results = {id(value) for value in run.event.result}
        for event, what in uses(plan, results, DECIDED, SHOWN, entering(averages)):
            if id(event.node) not in seen:
                seen.add(id(event.node))
                source = run.event.module.source
                line, _ = source.position(source.span(run.event.node).start)
                yield event, what % line


def shows_itself(run: Run) -> bool:
    """Whether an executor that trains on a data set prints numbers of batches."""
    for name, position in (("fetch_list", 5), ("debug", 4), ("fetch_handler", 8)):
        given = run.event.arguments.get(name, position)
        if given is not None and not set(given.values) <= {Constant(None), Constant(False)}:
            return True
    return False


def read_off_batches(plan: Plan, seen: set[int]) -> Iterator[tuple[Event, str]]:
    """Where something is made of the batches themselves that training is fed with.

    Args:
        plan: the plan.
        seen: what is told already, by the identity of the nodes; what is told here is added.
    """
    runs = [run for run in roles_of(plan).training if not run.whole and run.feed is not None]
    fetched = {id(value) for run in runs for value in run.event.result}

    def enter(value: Value) -> bool:
        # What a program makes of a batch is told by what fetches it.
        return id(value) not in fetched

    for run in runs:
        batches = drawn(run)
        if not batches:
            continue
        source = run.event.module.source
        line, _ = source.position(source.span(run.event.node).start)
        loops = {id(frame.node) for frame in run.event.loops()}
        for event, what in uses(plan, batches, DECIDED_BY_BATCH, SHOWN_OF_BATCH, enter):
            beside = any(id(frame.node) in loops for frame in event.loops())
            if not (beside or event.order > run.event.order) or makes_batches(event, run):
                continue
            if id(event.node) not in seen:
                seen.add(id(event.node))
                yield event, what % line


def makes_batches(event: Event, run: Run) -> bool:
    """Whether something happens in a function that yields batches, and does not run any itself."""
    training = {id(around) for around in run.event.module.source.parents(run.event.node)}
    for around in event.module.source.parents(event.node):
        if isinstance(around, (cst.FunctionDef, cst.Lambda)):
            return id(around) not in training and any(
                isinstance(inner, cst.Yield) for inner in descendants(around)
            )
    return False


def drawn(run: Run) -> set[int]:
    """What the loop around a run draws and the run is fed, by identity."""
    assert run.feed is not None
    return {
        id(value)
        for value in walk_back(run.feed.values, lambda value: not is_element(value))
        if is_element(value)
    }


def is_element(value: Value) -> bool:
    """Whether a value is what a loop draws."""
    return isinstance(value, Opaque) and value.kind == "element"


def entering(averages: Averaged | None) -> Callable[[Value], bool]:
    """What is looked at of what a value is made of: all but numbers that are averaged."""
    return lambda value: averages is None or not averages.gives(value)


def uses(
    plan: Plan, results: set[int], decided: str, shown: str, enter: Callable[[Value], bool]
) -> Iterator[tuple[Event, str]]:
    """What shows, keeps or compares some values, and what is to say about it."""
    loops = {
        id(frame.node) for run in roles_of(plan).training for frame in list(run.event.loops())[-1:]
    }
    for event in plan.facts.events:
        if event.detached:
            continue
        if event.kind == "test":
            behind = list(walk_back(plan.facts.values_of(event.node), enter))
            if any(id(value) in results for value in behind) and not asks_for_failure(behind):
                yield event, decided
        elif event.kind == "call" and shows(event):
            given = [*(argument.values for argument in event.arguments.items)]
            if any(
                id(value) in results
                for values in (*given, event.arguments.rest)
                for value in walk_back(values, enter)
            ):
                yield event, shown
        within = any(id(frame.node) in loops for frame in event.loops())
        for cell, by in written(plan, event) if within else ():
            # Counters, sets and dicts: what is put under a key, or the key itself, is of a share.
            if is_array(cell) or made_within(event, cell, loops):
                continue
            if any(id(value) in results for value in walk_back(by, enter)):
                yield event, shown.replace("shows", "keeps", 1)
                break


def asks_for_failure(behind: list[Value]) -> bool:
    """Whether a test asks for numbers that are none."""
    return any(name in FAILURES for value in behind for name in called_names(value))


def shows(event: Event) -> bool:
    """Whether a call shows something to people, counts it in a metric or writes it."""
    if any(isinstance(callee, Function) for callee in event.callee):
        return False
    if any(name in WRITING or name.startswith(SHOWING) for name in names_of(event)):
        return True
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            makers = [name for value in callee.operands[0] for name in called_names(value)]
            if callee.name in METHODS or any(m.startswith(SHOWING_OBJECTS) for m in makers):
                return True
    return False
