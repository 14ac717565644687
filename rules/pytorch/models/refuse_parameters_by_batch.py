"""Refuse parameters that have a row for each place in a batch.

What:
    A parameter that is as large as the batch is an error.

Why:
    One process trains a row of it for each place in the batch. Several would each train as many as
    their shares have places, and average what belongs to different places; and what is saved would
    have another shape.

Before:
    self.offset = nn.Parameter(torch.zeros(BATCH_SIZE, 8))

After:
    self.offset = nn.Parameter(torch.zeros(1, 8))

Refuses when:
    the size of a parameter is made of the batch size of a training loader.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, External, Instance, Opaque, Sequence, Value
from transpile.plan.graph import identity, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling

CODES = {"PT238": "a parameter is as large as the batch"}
PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
#: What a batch size is followed as: the very object that a loader was given, not one like it.
FOLLOWED = (Constant, External, Instance, Opaque)


def decide(plan: Plan) -> Iterator[Answer]:
    """One error for each such parameter."""
    sizes = {
        identity(value)
        for loader in plan.training_loaders
        for argument in [loader.argument("batch_size")]
        if argument is not None
        for value in argument.values
        if isinstance(value, FOLLOWED)
    }
    seen: set[int] = set()
    for event in plan.facts.calls_to(*PARAMETERS):
        given = tuple(value for item in event.arguments.items for value in item.values)
        if id(event.node) in seen or not any(is_made_with(one, sizes) for one in walk_back(given)):
            continue
        seen.add(id(event.node))
        yield Ruling.refuse(
            "PT238",
            event,
            "this parameter has a row for each place in a batch, of which every process has a "
            "share alone",
            "make it of a size that does not depend on the batch",
        )


def is_made_with(value: Value, sizes: set[int | str]) -> bool:
    """Whether a tensor is made by a call that is given one of some sizes."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    given = [one for item in value.arguments.items for one in item.values]
    given += [
        one
        for shape in given
        if isinstance(shape, Sequence)
        for values in shape.elements
        for one in values
    ]
    return any(isinstance(one, FOLLOWED) and identity(one) in sizes for one in given)
