"""Warn of several tables with sparse gradients, which may share one memory.

What:
    A model of two or more layers that are made with ``sparse=True`` is warned of.

Why:
    Where the outputs of two such layers are added, their gradients are the same rows in one memory.
    DistributedDataParallel averages each of them in its place: the rows are averaged twice.

Before:
    user_bias = nn.Embedding(100, 1, sparse=True)
    item_bias = nn.Embedding(100, 1, sparse=True)

After:
    user_bias = nn.Embedding(100, 1)
    item_bias = nn.Embedding(100, 1)

Refuses when:
    never: whether two outputs are added as they are is not looked for.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.Embedding.html;
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, External
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"PT420": "sparse gradients of several tables may be averaged twice"}
TABLES = frozenset({"torch.nn.Embedding", "torch.nn.EmbeddingBag"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning, for the second of such layers."""
    if not any(model.trained for model in plan.models):
        return
    tables = [event for event in plan.facts.calls if not event.detached and is_sparse(event)]
    repeated = [event for event in tables if any(isinstance(one, Loop) for one in event.stack)]
    for event in (*repeated, *tables[1:])[:1]:
        yield Remark.warn(
            "PT420",
            event,
            "several layers have sparse gradients: where their outputs are added, these share "
            "memory, and each would be averaged over the processes once more",
            "leave sparse=True out, or make a copy of an output by '* 1.0' before it is added",
        )


def is_sparse(event: Event) -> bool:
    """Whether a call makes a table with sparse gradients, or may do so."""
    if not any(isinstance(one, External) and one.name in TABLES for one in event.callee):
        return False
    asked = event.arguments.get("sparse", 6)
    return asked is not None and any(value != Constant(False) for value in asked.values)
