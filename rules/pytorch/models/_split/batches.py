"""What a loader delivers as a batch: a tensor, or a tuple, list or dict of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Union

import libcst as cst

from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import children
from transpile.plan.data.collation import collated_by, returned
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.quantity.row_sizes.samples import puts_together
from transpile.quantity.sample_axis.collation import dimension
from transpile.quantity.uses import behind, is_chain
from transpile.records import dataclass


@dataclass(frozen=True)
class Part:
    """A part of a batch, or a batch that is no tuple, list or dict for certain.

    Args:
        axis: along which it counts the samples.
        shown: it is shown to be a tensor.
    """

    axis: int = 0
    shown: bool = False


UNKNOWN = Part()
#: The parts of a batch by their place or key.
Layout = Union[Part, "tuple[Layout, ...]", "dict[object, Layout]"]
#: Tells a part that is neither tuple, list nor dict.
Leaf = Callable[[Value], Part]
#: Give what they are given first, piece by piece.
HANDING_ON = ("tqdm.", "rich.progress.track", "builtins.iter", "builtins.enumerate")
#: Operators whose operands are no lists, tuples or dicts.
CALCULATING = frozenset({"Subtract", "Multiply", "Divide", "FloorDivide", "Power", "Minus"})
#: Deeper samples are not looked into.
DEEPEST = 6


def layout_of(plan: Plan, value: Value) -> Layout | None:
    """What a batch of a loader, or a part of one, is made of; None for what is neither."""
    if not isinstance(value, Opaque):
        return None
    if value.kind == "item" and len(value.operands[0]) == 1 and len(value.index) == 1:
        around = layout_of(plan, value.operands[0][0])
        key = value.index[0]
        return part(around, key.value) if around is not None and type(key) is Constant else None
    if value.kind != "element":
        return None
    loaders = {id(one.value): one for one in plan.loaders}
    found = [loaders.get(id(one)) for one in walk_back(value.operands[0], hands_on)]
    several = [one for one in found if one is not None]
    if not several:
        return None
    return agreed([delivered(plan, loader) for loader in several])


def names_rows(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether places at which something is looked up stand in a batch as a loader delivers it."""
    if isinstance(node, cst.Subscript):
        several = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    else:
        several = [one.value for one in node.args] if isinstance(node, cst.Call) else []
    return any(
        bool(values) and all(layout_of(plan, value) is not None for value in values)
        for values in map(plan.facts.values_of, several)
    )


def hands_on(value: Value) -> bool:
    """Whether iterating over a value gives the elements of what it is made of as they are."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "operation":
        return value.name in ("iterate", "enumerate")
    names = [one.name for one in value.callee if isinstance(one, External)]
    return value.kind == "call" and bool(names) and all(n.startswith(HANDING_ON) for n in names)


def part(layout: Layout, key: object) -> Layout:
    """A part of a batch by its place or key."""
    if isinstance(layout, dict):
        return layout.get(key, UNKNOWN)
    if isinstance(layout, tuple) and isinstance(key, int):
        return layout[key] if -len(layout) <= key < len(layout) else UNKNOWN
    return UNKNOWN


@query
def delivered(plan: Plan, loader: Loader) -> Layout:
    """What a loader delivers."""
    functions = collated_by(loader)
    if functions:
        made = [value for one in functions for values in returned(plan, one) for value in values]
        return agreed([of_batch(plan, value) for value in made])
    data = loader.argument("dataset")
    if data is None or not puts_together(loader):
        return UNKNOWN
    return agreed([of_data(plan, value, DEEPEST) for value in data.values])


def agreed(several: Iterable[Layout]) -> Layout:
    """What alternatives have in common: their layout where all have it."""
    found = list(several)
    return found[0] if found and all(one == found[0] for one in found) else UNKNOWN


def of_batch(plan: Plan, value: Value) -> Layout:
    """What a collate function makes, or a part of it."""

    def leaf(part: Value) -> Part:
        along = dimension(part, plan.table.quantities)
        return UNKNOWN if along is None else Part(along, shown=True)

    return made_of(value, leaf, DEEPEST)


def of_data(plan: Plan, value: Value, depth: int) -> Layout:
    """What the samples of a data set are put together to, one row for each."""
    words = plan.table.quantities.batching
    if depth == 0:
        return UNKNOWN
    if words.tensors & set(called_names(value)) and isinstance(value, Opaque):
        unpacked = value.arguments.unknown_because is not None
        count = len(value.arguments.positional())
        return UNKNOWN if unpacked else (Part(shown=True),) * count
    if isinstance(value, Sequence):
        return agreed([of_sample(plan, one) for one in value.every()])
    if isinstance(value, Instance):
        return agreed([of_sample(plan, one) for one in given_by(plan, value)])
    sources = behind(value, words)
    if isinstance(value, Opaque) and is_chain(value, words):
        sources = tuple(one for listed in sources for one in behind(listed, words))
    return agreed([of_data(plan, one, depth - 1) for one in sources])


def of_sample(plan: Plan, value: Value) -> Layout:
    """What samples are put together to of which one is this."""
    return made_of(value, lambda part: Part(shown=is_tensor(plan, part, DEEPEST)), DEEPEST)


def is_tensor(plan: Plan, value: Value, depth: int) -> bool:
    """Whether a part of a sample is a tensor, an array or a number for certain."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    if not isinstance(value, Opaque) or depth == 0:
        return False
    if value.kind == "operation":
        return value.name in CALCULATING
    if value.kind in ("item", "element"):
        bases: list[Values] = [value.operands[0]]
    else:
        made = ("numpy.", "builtins.float", "builtins.int", *plan.table.quantities.tensors)
        names = [one for one in called_names(value) if not one.endswith(".load")]
        if any(name.startswith(made) for name in names):
            return True
        bases = [receiver for _, receiver in method_calls(value)]
    return bool(bases) and all(
        bool(base) and all(is_tensor(plan, one, depth - 1) for one in base) for base in bases
    )


def made_of(value: Value, leaf: Leaf, depth: int) -> Layout:
    """The layout of a tuple, list or dict, of parts that are told by `leaf`."""
    if depth and isinstance(value, Sequence) and not value.rest and value.kind != "set":
        several = [agreed([made_of(one, leaf, depth - 1) for one in e]) for e in value.elements]
        return tuple(several) if several else UNKNOWN
    if depth and isinstance(value, Mapping) and not value.open_because and not value.rest:
        if any(entry.maybe for entry in value.entries.values()):
            return UNKNOWN
        return {
            key: agreed([made_of(one, leaf, depth - 1) for one in entry.values])
            for key, entry in value.entries.items()
        }
    return leaf(value)


def given_by(plan: Plan, data: Instance) -> Iterator[Value]:
    """The samples that a data set of the project gives."""
    for cls in data.cls.ancestry():
        names = cls.scope.names if isinstance(cls, Class) else {}
        for word in ("__getitem__", "__iter__"):
            functions = [one for one in names.get(word, ()) if isinstance(one, Function)]
            if functions:
                for function in functions:
                    for values in given_back(plan, function):
                        yield from values
                return


def given_back(plan: Plan, function: Function) -> Iterator[Values]:
    """What a function returns, or what a generator yields."""
    if not function.is_generator:
        yield from returned(plan, function)
        return
    pending: list[cst.CSTNode] = [function.node.body]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Yield):
            plain = isinstance(node.value, cst.BaseExpression)
            # What others yield is not looked into.
            yield plan.facts.values_of(node.value) if plain else (Constant(None),)
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            pending.extend(children(node))
