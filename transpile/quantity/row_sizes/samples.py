"""The sizes of the samples that a data set gives."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.values import (
    Constant,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.data.collation import returned
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Plan

from ..sample_axis.axes import COLUMNS
from .arithmetic import Shape

#: Tells the sizes of a tensor.
Of = Callable[[Values], Shape | None]
#: Give some of the samples of the data set that they are given first.
PARTS_OF_DATA = (".random_split", ".Subset")


def puts_together(loader: Loader) -> bool:
    """Whether a loader puts samples together as they are, one row for each."""
    size = loader.argument("batch_size")
    alone = size is not None and size.values == (Constant(None),)
    return not alone and loader.collating is None


def sample_of(plan: Plan, of: Of, data: Value, key: object) -> Shape | None:
    """The sizes of a part of a sample of a data set, or of a sample that is one tensor."""
    data = whole_data(data)
    if isinstance(data, Instance):
        return returned_part(plan, of, data, key)
    if not isinstance(data, Opaque) or not isinstance(key, int):
        return None
    if not any(name.endswith(COLUMNS) for name in called_names(data)):
        return None
    given = [item.values for item in data.arguments.positional()]
    if len(given) == 1 and len(given[0]) == 1 and isinstance(given[0][0], Sequence):
        given = list(given[0][0].elements)
    shape = of(given[key]) if 0 <= key < len(given) else None
    return shape[1:] if shape else None


def returned_part(plan: Plan, of: Of, data: Instance, key: object) -> Shape | None:
    """The sizes of a part of what a data set of the project gives for an index."""
    found: set[Shape | None] = set()
    for item in data.cls.scope.names.get("__getitem__", ()):
        if not isinstance(item, Function):
            return None
        for values in returned(plan, item):
            for value in values:
                part: Values | None = (value,)
                if key is not None:
                    part = part_of(value, key)
                elif isinstance(value, Sequence):
                    part = None
                found.add(of(part) if part else None)
    return found.pop() if len(found) == 1 else None


def is_asked_for(value: Value) -> bool:
    """Whether a value is the index that a data set of the project is asked for."""
    if not isinstance(value, Opaque) or value.kind != "parameter":
        return False
    return isinstance(value.node, cst.FunctionDef) and value.node.name.value == "__getitem__"


def whole_data(data: Value) -> Value:
    """The data set that others are parts of."""
    while isinstance(data, Opaque):
        source = data.operands[0] if data.kind in ("item", "element") else (data,)
        made = source[0] if len(source) == 1 else None
        if not isinstance(made, Opaque):
            return data
        if not any(name.endswith(PARTS_OF_DATA) for name in called_names(made)):
            return data
        first = made.arguments.get("dataset", 0)
        if first is None or len(first.values) != 1:
            return data
        data = first.values[0]
    return data


def part_of(value: Value, key: object) -> Values | None:
    """A part of a sample by its position or key."""
    if isinstance(value, Sequence) and isinstance(key, int):
        return value.elements[key] if 0 <= key < len(value.elements) else None
    if isinstance(value, Mapping):
        entry = value.entries.get(key)
        return entry.values if entry is not None else None
    return None
