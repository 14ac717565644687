"""Where the batches of a backward pass come from when they come from no loader."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Opaque, Unknown, Value
from transpile.plan.data.batch_kinds import Batch, batch_of, draws_from_distribution
from transpile.plan.data.batch_sources import (
    cut_by_index,
    enters,
    foreign_source,
    happens_within,
    loops_around,
    names_any,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Backward, Plan
from transpile.rows.verdict import hook

#: What makes environments that an agent acts in.
ENVIRONMENTS = ("gym.", "gymnasium.", "pettingzoo.", "dm_control.", "procgen.", "vizdoom.")
DRAWS = frozenset(
    {
        "torch.rand", "torch.randn", "torch.randint", "torch.normal", "numpy.random.rand",
        "numpy.random.randn", "numpy.random.randint", "numpy.random.uniform",
        "numpy.random.normal", "numpy.random.random", "random.random", "random.randint",
        "random.uniform", "random.gauss",
    }
)  # fmt: skip
CHOICES = frozenset({"torch.randperm", "torch.randint"})
#: Methods that write what they are given into a tensor.
COPIES = frozenset({"copy_", "set_", "index_copy_", "masked_scatter_"})


def why_no_loader(plan: Plan, backward: Backward) -> str:
    """Say in one sentence where the batches of a backward pass without a loader come from."""
    behind = list(walk_back(backward.loss, enters))
    return (
        no_data_set(plan, backward)
        or foreign_source(plan, backward, behind)
        or backward.cut_problem
        or cut_by_index(plan, backward, behind, CHOICES)
        or goes_over_unknown(plan, backward)
        or kept_by_hook(plan, backward)
        or no_batch(plan, backward)
        or drawn_at_random(plan, backward, behind)
        or "no DataLoader can be seen behind this backward pass: the script takes what it trains "
        "on from its data in its own way, so which part belongs to which process is not known"
    )


def kept_by_hook(plan: Plan, backward: Backward) -> str:
    """The reason where a loss goes through no model, but may be made of what a hook has kept."""
    hooked = hook(plan.facts)
    if hooked is None or hooked.node is None or hooked.module is None or backward.models:
        return ""
    source = hooked.module.source
    line, _ = source.position(source.span(hooked.node).start)
    return (
        f"what this loss is made of may be kept by the forward hook in line {line}, and what hooks "
        "keep is not followed"
    )


def no_batch(plan: Plan, backward: Backward) -> str:
    """The reason where no step draws a batch of rows."""
    batch = batch_of(plan, backward) if backward.models else Batch.DRAWN
    if batch is Batch.FIXED:
        return "every step trains on the same rows: no batch is drawn that could be shared out"
    if batch is Batch.ACTED:
        return (
            "each step trains on what acting with the model gave just before: there is no data set "
            "that could be sharded"
        )
    return ""


def no_data_set(plan: Plan, backward: Backward) -> str:
    """The reason where what a backward pass trains on is no data set that stays what it is."""
    behind = list(walk_back(backward.loss, enters))
    return acts_in_environment(behind) or copied_into_buffer(plan, backward)


def acts_in_environment(behind: list[Value]) -> str:
    """The reason where steps of an environment give the data."""
    for value in behind:
        for name, receivers in method_calls(value):
            if name not in ("step", "reset"):
                continue
            for source in walk_back(receivers):
                for made in called_names(source):
                    if made.startswith(ENVIRONMENTS):
                        return (
                            f"the training data comes from acting in an environment ({made}) with "
                            "the model: there is no data set that could be sharded"
                        )
    return ""


def copied_into_buffer(plan: Plan, backward: Backward) -> str:
    """The reason where batches of a loader are copied into a tensor that is made once."""
    loops = loops_around(backward)
    loaders = {id(loader.value) for loader in plan.loaders}
    for event in plan.facts.calls:
        if not loops.intersection(id(loop.node) for loop in event.loops()):
            continue
        if not any(isinstance(c, Opaque) and c.name in COPIES for c in event.callee):
            continue
        given = [value for argument in event.arguments.items for value in argument.values]
        if any(id(value) in loaders for value in walk_back(tuple(given))):
            return (
                "the batches of a DataLoader are copied into a tensor that is made once before "
                "(copy_), so what a step trains on cannot be followed"
            )
    return ""


def goes_over_unknown(plan: Plan, backward: Backward) -> str:
    """The reason where the loop around a backward pass goes over what the script does not tell."""
    for loop in backward.event.loops():
        if not isinstance(loop.node, cst.For):
            continue
        for value in walk_back(plan.facts.values_of(loop.node.iter)):
            if isinstance(value, Unknown):
                return (
                    "the batches come from a loop over something that is not known: "
                    f"{value.reason}"
                )
    return ""


def drawn_at_random(plan: Plan, backward: Backward, behind: list[Value]) -> str:
    """The reason where each step makes up its data."""
    loops = loops_around(backward)
    for value in behind:
        if not isinstance(value, Opaque):
            continue
        if not names_any(value, DRAWS) and not draws_from_distribution(plan, value):
            continue
        if happens_within(plan, value, loops):
            return (
                "the script makes up its batches by random numbers in each step, not with a "
                "DataLoader: there is no data set that could be sharded"
            )
    return ""
