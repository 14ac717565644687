"""Share evaluation out over the processes, to the same numbers to the last sample.

What:
    With ``--eval shard`` each process takes a block of whole batches of an evaluation loop, no
    sample twice and none left out. What the loop adds up, counts or collects is put together right
    after it, in the order of the data, before anything looks at it. Models are called without
    their wrap, with the buffers of rank 0. Where it cannot be seen that the numbers stay the same,
    every process goes through everything, and a warning says why. That is also what
    ``--eval replicate`` does, the default.

Why:
    A ``$sampler`` pads, so that some samples count twice; ``drop_last`` leaves some out.
    Whole batches keep what is averaged per batch. In a loop of which processes take different
    numbers of rounds, any collective would hang, such as a wrap that broadcasts its buffers.

Before:
    model.eval()
    correct = 0
    for x, y in test_loader:
        correct += (model(x).argmax(1) == y).sum().item()

After:
    model.eval()
    correct = 0
    for x, y in own_batches(test_loader):
        correct += (unwrap(model)(x).argmax(1) == y).sum().item()
    (correct,) = sum_totals(correct)

Refuses when:
    never: what cannot be sharded is done by every process.

Source:
    $sampler_source
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.backend import Backend
from transpile.evaluation import Done, Shared, Whole
from transpile.evaluation.written import shared_out
from transpile.layout import insert_before
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
#: What leaves no doubt about what is trained.
SURE = ("611",)
CODES = {
    "611": "evaluation is not sharded over the processes",
    "612": "each process evaluates its share of the batches",
}


def decide(backend: Backend, plan: Plan) -> Iterator[Answer]:
    """One answer for each evaluation loop, where sharing it out was asked for."""
    if plan.options.evaluation != "shard":
        return
    for found in backend.evaluations(plan):
        if isinstance(found, Whole):
            yield Remark.warn(
                f"{backend.prefix}611",
                found,
                f"every process evaluates all of this: {found.reason} (line {found.line})",
                "nothing is wrong: the numbers are those of the whole data set",
            )
        elif isinstance(found, Done):
            yield Ruling.done(f"{backend.prefix}612", found, "each process takes its own batches")
        else:
            yield Ruling.apply(
                f"{backend.prefix}612",
                (found.module, found.loop),
                "each process takes a block of its batches, and the totals are put together",
                data=found,
            )


def edits(backend: Backend, plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """Own batches in the head, the model itself in the body, the totals behind the loop."""
    data: Shared = ruling.data
    source, names = data.module.source, plan.names_in(data.module)
    synchronised: set[str] = set()
    for forward in data.forwards:
        text = source.code(forward.node)
        if text not in synchronised and backend.broadcasts(plan, forward.model):
            synchronised.add(text)
            yield Helper("sync_buffers", data.module)
            line = f"{names.fresh('sync_buffers')}({text})"
            for edit in insert_before(source, data.loop, [line]):
                yield In(data.module, edit)
    yield from shared_out(plan, data)
