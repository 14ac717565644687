"""Where a script cuts its batches out of its data by index."""

from __future__ import annotations

from transpile.facts.events import Event, Loop
from transpile.facts.values import Generator, Opaque
from transpile.plan.data.cuts.lists import picked_one_by_one, why_not_apart
from transpile.plan.data.cuts.search import CutSearch
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Plan


def find_cuts(plan: Plan, backward: Backward, happening: dict[int, Event]) -> None:
    """Find where the batches of a backward pass without loaders are cut out of the data.

    Args:
        plan: the plan so far.
        backward: the backward pass, which learns its cuts and its loop over the batches.
        happening: the calls of the run by the identity of what they give.
    """
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    if not loops or not plan.table.index_draws:
        return
    search = CutSearch(plan, loops, backward.loss, happening)
    backward.cuts = tuple(search.cuts.values())
    values = [value for cut in backward.cuts for value in cut.values]
    reasons = (why_not_apart(plan, value) for value in values)
    backward.cut_problem = (
        search.problem
        or next(filter(None, reasons), "")
        or picked_one_by_one(plan, set(map(id, values)))
    )
    if not backward.cuts:
        return
    moved_by = {
        id(value.node)
        for cut in backward.cuts
        if cut.bounds is not None
        for value in walk_back(cut.bounds.lower)
        if isinstance(value, Opaque)
    }
    moved_by.update(
        id(value.node)
        for cut in backward.cuts
        for value in cut.values
        if cut.pieces and isinstance(value, Opaque)
    )
    moved_by.update(
        id(event.node) for event in plan.facts.iterations if hands_on_samples(plan, event)
    )
    chosen = next((loop for loop in reversed(loops) if id(loop.node) in moved_by), loops[-1])
    backward.batch_loop = chosen
    backward.epoch_loops = tuple(loops[: loops.index(chosen)])


def hands_on_samples(plan: Plan, event: Event) -> bool:
    """Whether a loop goes through what a generator of the script cuts out."""
    return any(
        id(inner) in plan.samples
        for value in event.callee
        if isinstance(value, Generator)
        for inner in walk_back(value.yields)
    )
