"""Arrays with a row for every sample of a whole batch that meet the samples of a worker's share."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    Argument,
    Constant,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.domain import Kind
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.data._batch_shapes import in_model_code, said_of
from transpile.rules.mxnet.data._draws import holds_batch
from transpile.rules.mxnet.data._generators import drawn_size
from transpile.rules.mxnet.data._slices import cut_values
from transpile.rules.mxnet.losses._losses import shares

PACKAGES = ("mxnet.nd.", "mxnet.np.", "numpy.")
#: Functions whose result has rows that differ: where their number is said, and at which place.
COUNTING = {"arange": ("stop", 0), "linspace": ("num", 2), "logspace": ("num", 2),
            "eye": ("N", 0), "identity": ("n", 0), "tri": ("N", 0)}  # fmt: skip
#: Functions that make an array of a list.
ARRAYS = frozenset({"array", "asarray"})
#: What looks up in an array, or multiplies matrices: no row of it belongs to a sample.
LOOKING_UP = frozenset({"take", "pick", "gather_nd", "one_hot", "Embedding", "dot", "batch_dot"})


def whole_rows(plan: Plan) -> Iterator[Event]:
    """The calls that make such arrays, for a loss of batches that a loader gives."""
    sizes = [
        (loader.event, argument)
        for update in updates(plan)
        for loader in update.loaders
        for argument in (loader.argument("batch_size"),)
        if argument is not None
    ]
    made = {
        id(value): event
        for event in plan.facts.reached_calls
        if sizes and not in_model_code(plan, event)
        if any(has_rows(plan, event, where, size) for where, size in sizes)
        for value in event.result
    }
    if not made:
        return
    data = {id(loader.value) for loader in plan.loaders} | cut_values(plan)
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    seen: set[int] = set()
    for value in walk_back(losses, lambda each: holds_batch(each) and id(each) not in data):
        for one, others in sides(value):
            for found in walk_back(one, keeps_rows):
                event = made.get(id(found))
                if event is None or id(event.node) in seen:
                    continue
                if any(shares(plan).of(other).kind is Kind.SAMPLE for other in others):
                    seen.add(id(event.node))
                    yield event


def sides(value: Value) -> Iterator[tuple[Values, list[Values]]]:
    """What an operator or a call takes, each with what it takes beside it."""
    if not isinstance(value, Opaque):
        return
    groups: list[Values] = []
    if value.kind == "operation":
        groups = list(value.operands)
    elif value.kind == "call" and words_of(value).isdisjoint(LOOKING_UP):
        groups = [argument.values for argument in value.arguments.items]
        groups += [
            one.operands[0] for one in value.callee if isinstance(one, Opaque) and one.operands
        ]
    for place, group in enumerate(groups):
        yield group, groups[:place] + groups[place + 1 :]


def keeps_rows(value: Value) -> bool:
    """Whether what a value is made of may have the rows that it has: no part is taken out."""
    return isinstance(value, Opaque) and (
        value.kind == "operation"
        or (value.kind == "call" and words_of(value).isdisjoint(LOOKING_UP))
        or value.kind == "attribute"
    )


def words_of(value: Opaque) -> set[str]:
    """The last words of what a call calls."""
    words = {name.rpartition(".")[2] for name in called_names(value)}
    return words | {each.name for each in value.callee if isinstance(each, Opaque)}


def has_rows(plan: Plan, event: Event, where: Event, size: Argument) -> bool:
    """Whether a call makes an array of as many rows as the batch of a loader has samples."""
    name = next((n for v in event.result for n in called_names(v) if n.startswith(PACKAGES)), "")
    word = name.rpartition(".")[2]
    drawn = drawn_size(event)
    if drawn and drawn == size.values:
        return True
    if word in COUNTING:
        length = counted(event, word)
        if length is None or not isinstance(length.node, cst.BaseExpression):
            return False
        if length.values and length.values == size.values:
            written = isinstance(length.node, cst.Integer)
            same = said_of(plan, event, length) & said_of(plan, where, size)
            return written or bool(same) or not isinstance(length.values[0], Constant)
        return False
    constant = only_constant(size.values)
    given = event.arguments.items[0].values if word in ARRAYS and event.arguments.items else ()
    return constant is not None and any(length_of(value) == constant.value for value in given)


def counted(event: Event, word: str) -> Argument | None:
    """What a call is told of how many rows it makes."""
    keyword, place = COUNTING[word]
    if word == "arange" and event.arguments.get("stop", 1) is not None:
        start = event.arguments.get("start", 0)
        if start is not None and start.values != (Constant(0),):
            return None
        place = 1
    found: Argument | None = event.arguments.get(keyword, place)
    return found


def length_of(value: Value) -> object:
    """How long a list is, as far as it is written out; None where that is not seen."""
    if isinstance(value, Sequence):
        return None if value.rest or value.kind == "set" else len(value.elements)
    if isinstance(value, Opaque) and value.kind == "operation" and value.name == "Multiply":
        for one, other in (value.operands, value.operands[::-1]):
            times = only_constant(other)
            own = length_of(one[0]) if len(one) == 1 else None
            if isinstance(own, int) and times is not None and isinstance(times.value, int):
                return own * times.value
    return None
