"""Let rank 0 draw the batches, and broadcast them to the others.

What:
    With ``--batches broadcast`` the loops over batches take what rank 0 draws, together with its
    random state. The other ranks never read the data.

Why:
    Splitting the calls of a model needs the same batch on every rank. Where threads, the clock,
    a service or a file that only one machine has decide what comes next, nothing else promises it.

Before:
    for inputs, targets in loader:
        train_step(inputs, targets)

After:
    for inputs, targets in batches_of_main_process(loader):
        train_step(inputs, targets)

Refuses when:
    a training step draws its batch in another way than by a ``for`` loop.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.data._handed_out import batch_loop, batch_loops

CODES = {
    "PT357": "the batches of a loop are those that rank 0 draws",
    "PT358": "a training step draws its batch in no loop that rank 0 could run for all",
}
#: Where batches are sharded, each rank draws its own.
WAYS = ("calls",)
HELPER = "batches_of_main_process"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each loop over batches."""
    if plan.options.batches != "broadcast":
        return
    for backward in plan.backwards:
        loop = batch_loop(plan, backward)
        drawn = loop is not None and isinstance(loop.node, cst.For)
        if not drawn and not backward.event.detached:
            yield Ruling.refuse(
                "PT358",
                backward.event,
                "the batch of this step is drawn in no for loop over batches",
                "draw the batches in a for loop, or leave out --batches broadcast",
            )
    for module, node in batch_loops(plan):
        yield Ruling.apply(
            "PT357",
            (module, node),
            "rank 0 draws the batches of this loop",
            data=node.iter,
            done=is_done(node),
        )


def is_done(loop: cst.For) -> bool:
    """Whether a loop takes its batches from rank 0."""
    called = loop.iter.func if isinstance(loop.iter, cst.Call) else None
    return isinstance(called, cst.Name) and called.value == HELPER


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """What is iterated, within the helper's call."""
    yield Helper(HELPER, ruling.module)
    name = plan.names_in(ruling.module).fresh(HELPER)
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
