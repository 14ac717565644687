"""Warn of several tables with sparse gradients, which may share one memory.

What:
    A model of two or more layers or look-ups with ``sparse=True`` is warned of.

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

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.values import Constant, External
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"PT420": "sparse gradients of several tables may be averaged twice"}
#: What makes a table, and the position of its ``sparse``.
TABLES = {"torch.nn.Embedding": 6, "torch.nn.EmbeddingBag": 6}
#: What looks rows up in a table that it is given as ``weight``.
LOOK_UPS = {"torch.nn.functional.embedding": 6, "torch.nn.functional.embedding_bag": 7}


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning, for the second of such layers."""
    if not any(model.trained for model in plan.models):
        return
    made: dict[object, Event] = {}
    for event in plan.facts.calls:
        if event.detached:
            continue
        if is_sparse(event, TABLES):
            made[event] = event
        elif is_sparse(event, LOOK_UPS):
            made.setdefault(looked_up(event), event)
    tables = list(made.values())
    repeated = [event for event in tables if is_repeated(event)]
    for event in (*repeated, *tables[1:])[:1]:
        yield Remark.warn(
            "PT420",
            event,
            "several layers have sparse gradients: where their outputs are added, these share "
            "memory, and each would be averaged over the processes once more",
            "leave sparse=True out, or make a copy of an output by '* 1.0' before it is added",
        )


def is_sparse(event: Event, positions: dict[str, int]) -> bool:
    """Whether a call is one of these and has sparse gradients, or may have."""
    for one in event.callee:
        if isinstance(one, External) and one.name in positions:
            asked = event.arguments.get("sparse", positions[one.name])
            if asked is not None and any(value != Constant(False) for value in asked.values):
                return True
    return False


def looked_up(event: Event) -> object:
    """What tells the table of a look-up from others."""
    weight = event.arguments.get("weight", 1)
    if weight is None or weight.node is None:
        return event
    named = cst.Module([]).code_for_node(weight.node)
    return named, frozenset(id(origin(value)) for value in weight.values)


def is_repeated(event: Event) -> bool:
    """Whether a call stands for several tables: that of a layer in any loop, a look-up in its own.

    Each step of the training looks up in the same table once more.
    """
    frames = event.stack
    if is_sparse(event, LOOK_UPS):
        inside = [place for place, one in enumerate(frames) if isinstance(one, Call)]
        frames = frames[inside[-1] :] if inside else ()
    return any(isinstance(one, Loop) for one in frames)
