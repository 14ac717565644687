"""Runs of executors."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Argument, Constant, Opaque
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.fluid._events import calls_method, receivers_of
from transpile.rules.fluid.programs._programs import Program, programs_of

EXECUTOR = "paddle.fluid.Executor"
PARALLEL_EXECUTOR = "paddle.fluid.ParallelExecutor"


@dataclass(frozen=True, eq=False)
class Run:
    """A ``run`` of an executor.

    Args:
        event: the call.
        programs: the programs that it may run; None among them where one is not known.
        feed: the argument with the data.
        whole: by something that trains on a whole data set by itself.
    """

    event: Event
    programs: frozenset[Program | None]
    feed: Argument | None
    whole: bool = False


def find_runs(plan: Plan, calls: list[Event]) -> Iterator[Run]:
    """Every run of an executor."""
    programs = programs_of(plan)
    for event in calls:
        for method in ("train_from_dataset", "infer_from_dataset"):
            if calls_method(event, method, {EXECUTOR}):
                given = event.arguments.get("program", 0)
                whole = method == "train_from_dataset"
                yield Run(event, frozenset(found_in(plan, event, given)), None, whole)
        found: set[Program | None] = set()
        feeds: list[Argument] = []
        for executor in receivers_of(event, "run"):
            names = called_names(executor)
            if EXECUTOR in names:
                found |= found_in(plan, event, event.arguments.get("program", 0))
                feed = event.arguments.get("feed", 1)
            elif PARALLEL_EXECUTOR in names:
                assert isinstance(executor, Opaque)
                given = executor.arguments.get("main_program", 2)
                made = programs.made.get(id(executor))
                found |= found_in(plan, made or event, given)
                feed = event.arguments.get("feed", 1) or event.arguments.keyword("feed_dict")
            else:
                continue
            if feed is not None and feed.values != (Constant(None),):
                feeds.append(feed)
        if found:
            yield Run(event, frozenset(found), feeds[0] if feeds else None)


def found_in(plan: Plan, event: Event, given: Argument | None) -> set[Program | None]:
    """The programs that an argument stands for; without one, what is the default at the place."""
    programs = programs_of(plan)
    if given is None or given.values == (Constant(None),):
        return {programs.current(event.stack, 0)}
    found: set[Program | None] = programs.several(given.values)
    return found
