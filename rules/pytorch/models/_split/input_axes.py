"""Along which axes the inputs of a model may count the samples, and which of them are tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from transpile.facts.values import (
    Arguments,
    Constant,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.domain import Kind
from transpile.quantity.uses import tensors_by_use
from transpile.records import replace
from transpile.rows.domain import LENGTH, Group, Held, Input, Known, Record, Tensor
from transpile.rows.state import Given
from transpile.rules.pytorch.models._split.batches import Layout, Part, agreed, layout_of
from transpile.rules.pytorch.models._split.patched import supposing


class Axis(NamedTuple):
    """The axis of the samples of an argument; None for one that is given whole.

    A constant is made of no samples, though it may have a row for each. What a script cuts out of
    its data itself may be places in time, of all streams that lie beside each other.
    """

    place: int | None
    certain: bool = True
    constant: bool = False
    cut: bool = False


def axes_of(plan: Plan, arguments: Arguments) -> dict[str, Axis]:
    """The axis of the samples of each argument, as far as the training loop tells."""
    found: dict[str, Axis] = {}
    for place, one in enumerate(arguments.positional()):
        found[str(place)] = axis_of(plan, one.values)
    for one in arguments.items:
        if one.keyword is not None:
            found[one.keyword] = axis_of(plan, one.values)
    return found


def axis_of(plan: Plan, values: Values) -> Axis:
    """The axis of the samples of an argument; None for one that is given whole."""
    if not any(is_input(value) for value in values):
        return Axis(None)
    found = supposing(plan).of(values)
    equal = found.kind in (Kind.EQUAL, Kind.NOTHING)
    if equal and plan.way == "calls":
        # On whole batches nothing is a share: what is no plain number may have rows.
        return Axis(0, certain=False, constant=is_made_before(plan, values))
    if equal and not found.tensor:
        return Axis(None)
    constant = equal and is_made_before(plan, values)
    certain = found.kind is Kind.SAMPLE and found.dim is not None and not is_of_library(plan)
    return Axis(found.dim or 0, certain, constant, cut=certain and not plan.training_loaders)


def is_of_library(plan: Plan) -> bool:
    """Whether batches are drawn that a library puts together, with time first as it may be.

    Where batches are shared, what shares them out takes nothing but a ``DataLoader``.
    """
    return plan.way == "calls" and any(loader.foreign for loader in plan.training_loaders)


def is_made_before(plan: Plan, values: Values) -> bool:
    """Whether values are made outside of the loops that train."""
    made = _made_in_loops(plan)
    return made is not None and made.isdisjoint(map(id, values))


@query
def _made_in_loops(plan: Plan) -> set[int] | None:
    """The identities of what calls in loops that train give; None where there are no such loops."""
    loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    if not loops:
        return None
    return {
        id(value)
        for event in plan.facts.calls
        if any(id(loop.node) in loops for loop in event.loops())
        for value in event.result
    }


def is_input(value: Value) -> bool:
    """Whether a value may be a tensor of samples, or hold one."""
    if isinstance(value, (Sequence, Mapping)):
        return any(is_input(one) for one in value.every())
    return not isinstance(value, Constant)


def is_open(value: Value) -> bool:
    """Whether a value is a tuple or list of as many tensors as the run tells, all alike."""
    return (
        isinstance(value, Sequence)
        and not value.elements
        and bool(value.rest)
        and all(isinstance(one, Opaque) for one in value.rest)
    )


def has_open(arguments: Arguments) -> bool:
    """Whether an argument is a tuple or list of as many tensors as the run tells."""
    return any(len(one.values) == 1 and is_open(one.values[0]) for one in arguments.items)


def seeded(
    plan: Plan, arguments: Arguments, axes: dict[str, int], ranks: dict[str, int] | None = None
) -> Given:
    """The arguments of a call as the run of a model begins with them."""

    def one_seed(values: Values, name: str) -> Known:
        rank = (ranks or {}).get(name)
        if rank is not None and name not in axes:
            return Tensor((LENGTH,) * rank)
        return seed(plan, values, name, axes.get(name))

    items = tuple(
        one_seed(one.values, str(place)) for place, one in enumerate(arguments.positional())
    )
    keywords = {
        one.keyword: one_seed(one.values, one.keyword)
        for one in arguments.items
        if one.keyword is not None
    }
    if arguments.unknown_because is not None:
        # Whatever else it is given may be of the samples, too.
        keywords["**"] = Input("**", 0)
    return Given(items, keywords, arguments.unknown_because is not None)


def seed(plan: Plan, values: Values, name: str, axis: int | None) -> Known:
    """One argument."""
    if len(values) == 1:
        value = values[0]
        if isinstance(value, Constant):
            return Constant(value.value)
        if isinstance(value, Sequence) and not value.rest and value.elements:
            return Group(
                tuple(
                    seed(plan, one, f"{name}.{at}", axis) for at, one in enumerate(value.elements)
                )
            )
        if is_open(value) and axis is not None:
            return Group((), Input(f"{name}.*", axis))
        if isinstance(value, Mapping) and not value.open_because and not value.rest:
            return Record(
                tuple((key, seed(plan, one.values, f"{name}.{key}", axis))
                      for key, one in value.entries.items())
            )  # fmt: skip
    if axis is None:
        return Held(values)
    layouts = [layout_of(plan, value) for value in values]
    if None in layouts or not layouts:
        return Input(name, axis)
    layout = agreed([one for one in layouts if one is not None])
    if isinstance(layout, Part) and any(id(value) in tensors_by_use(plan) for value in values):
        layout = replace(layout, shown=True)
    return laid_out(plan, layout, name, axis)


def laid_out(plan: Plan, layout: Layout, name: str, axis: int) -> Known:
    """A batch of a loader, or a part of one, by what it is made of.

    Calls are split along one axis of an argument, whatever it is made of.
    """
    if isinstance(layout, Part):
        if plan.way == "calls":
            return Input(name, axis)
        return Input(name, axis or layout.axis, open=not layout.shown)
    if isinstance(layout, dict):
        return Record(
            tuple((key, laid_out(plan, one, f"{name}.{key}", axis)) for key, one in layout.items())
        )
    return Group(tuple(laid_out(plan, one, f"{name}.{at}", axis) for at, one in enumerate(layout)))


def trials(inputs: dict[str, Axis]) -> Iterator[dict[str, int]]:
    """The axes of the inputs that are tried: those that are known, then the second ones."""
    axes = {name: one.place for name, one in inputs.items() if one.place is not None}
    yield axes
    open_axes = [name for name, one in inputs.items() if one.place is not None and not one.certain]
    if open_axes:
        yield {**axes, **dict.fromkeys(open_axes, 1)}
    if len(open_axes) > 1:
        yield {**axes, **dict.fromkeys(open_axes[1:], 1)}


def each_whole(inputs: dict[str, Axis], ranks: dict[str, int]) -> Iterator[dict[str, int]]:
    """The axes of the inputs that are samples where one that need not be is given whole.

    Inputs of any number of axes could be batches of batches.
    """
    axes = {name: one.place for name, one in inputs.items() if one.place is not None}
    for name in axes if len(axes) > 1 and axes.keys() <= ranks.keys() else ():
        if not inputs[name].certain:
            yield {other: place for other, place in axes.items() if other != name}


def along_streams(inputs: dict[str, Axis], ranks: dict[str, int]) -> Iterator[dict[str, int]]:
    """The axes of the inputs where those that are cut by hand are places in time of streams.

    Of how many axes they are must be known: of any number, some model would fit.
    """
    cut = [name for name, one in inputs.items() if one.cut and one.place == 0 and name in ranks]
    if cut:
        axes = {name: one.place for name, one in inputs.items() if one.place is not None}
        yield {**axes, **dict.fromkeys(cut, 1)}


def without_constants(inputs: dict[str, Axis]) -> dict[str, int] | None:
    """The axes of the inputs that are samples, others being given whole; None where all are."""
    axes = {name: one.place for name, one in inputs.items() if one.place is not None}
    samples = {name: place for name, place in axes.items() if not inputs[name].constant}
    return samples if samples and len(samples) < len(axes) else None
