"""Copy to each device its process's samples of every batch.

What:
    All processes go through the same batches on the host, in the order of one process. What is
    copied to a device is the process's share of a batch, and the tensors there have its size.

Why:
    The samples of one step are then those of one process, and each is computed once. Everything
    that the script does with arrays stays as it is: what is cut, augmented, counted or compared is
    the whole batch. The first batches of all processes are compared, since libraries of which
    nothing is known may draw at random: the output stops where they differ.

Before:
    tx = tensor.Tensor((batch_size, 784), dev)
    tx.copy_from_numpy(x)

After:
    tx = tensor.Tensor((share_size(batch_size), 784), dev)
    tx.copy_from_numpy(share_of(x))

Refuses when:
    a batch comes to the device in another way, such as random numbers that are drawn there. When it
    starts, the output refuses batches that are not divisible by the number of processes.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa.data._batches import Share, shares
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG131": "each device takes its process's samples of every batch",
    "SG132": "a batch comes to the device in a way that is not followed",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that is given a batch."""
    if own_path(plan) is not None:
        return
    for share in shares(plan):
        if share.why_not:
            yield Ruling.refuse(
                "SG132",
                share,
                share.why_not,
                "copy batches with tensor.copy_from_numpy, from an array that all processes have",
            )
            continue
        yield Ruling.apply(
            "SG131",
            share,
            "each device takes its process's samples of every batch",
            data=share,
            done=is_shared(plan),
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the array, the size or the shape."""
    share: Share = ruling.data
    assert isinstance(share.node, cst.BaseExpression)
    yield Helper(share.helper, share.module)
    name = plan.names_in(share.module).fresh(share.helper)
    for edit in wrap_expression(share.module.source, share.node, f"{name}(", ")"):
        yield In(share.module, edit)
