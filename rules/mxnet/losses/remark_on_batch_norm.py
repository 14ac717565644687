"""Say whose statistics batch norm takes where workers share a batch.

What:
    A script that trains with batch norm, or with a network that has it, is warned of.

Why:
    MXNet's batch norm takes its statistics from the samples that one device of one worker has,
    ``SyncBatchNorm`` from those of all devices of one worker. With N workers that is an N-th of
    what it was, and each sample gets another result than with one process.

Before:
    net.add(gluon.nn.Dense(8), gluon.nn.BatchNorm())

After:
    net.add(gluon.nn.Dense(8), gluon.nn.LayerNorm())

Refuses when:
    never: with ``--batch-size per-device`` the statistics are as many samples' as before.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/nn/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, External
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.mxnet.data._loaders import counts_workers

#: It is the same whatever is sharded.
SURE = ("MX315",)
CODES = {"MX315": "batch norm takes its statistics per worker"}
LAYERS = frozenset({"BatchNorm", "BatchNormReLU", "SyncBatchNorm", "BatchNorm_v1"})
PLACES = ("mxnet.gluon.nn.", "mxnet.gluon.contrib.nn.", "mxnet.sym.", "mxnet.nd.", "mxnet.npx.")
#: Networks that have batch norm, but for those whose names begin like these.
ZOOS = ("mxnet.gluon.model_zoo.vision.", "gluoncv.model_zoo.")
WITHOUT = ("alexnet", "vgg", "squeezenet", "AlexNet", "VGG", "SqueezeNet")


def decide(plan: Plan) -> Iterator[Answer]:
    """One remark for the first batch norm of a script."""
    if plan.options.batch_size != "global" or counts_workers(plan):
        return
    for event in plan.facts.reached_calls:
        if normalises(event):
            yield Remark.warn(
                "MX315",
                event,
                "batch norm takes its statistics from each worker's share of the batch, which is "
                "smaller than the script's",
                "keep shares large enough, or choose --batch-size per-device",
            )
            return


def normalises(event: Event) -> bool:
    """Whether a call makes batch norm whose statistics are those of the batch."""
    kept = event.arguments.keyword("use_global_stats")
    if kept is not None and kept.values == (Constant(True),):
        return False
    names = [callee.name for callee in event.callee if isinstance(callee, External)]
    return any(is_batch_norm(name) for name in names)


def is_batch_norm(name: str) -> bool:
    """Whether a function or class is batch norm, or makes a network that has it."""
    last = name.rpartition(".")[2]
    if name.startswith(PLACES):
        return last in LAYERS
    if not name.startswith(ZOOS):
        return False
    return not last.startswith(WITHOUT) or last.endswith("_bn")
