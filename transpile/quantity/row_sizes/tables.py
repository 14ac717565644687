"""The axes of data that other libraries read or make: tables of pandas, data sets of sklearn."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values, only_constant
from transpile.plan.graph import called_names, method_calls

from .arithmetic import Shape

#: How far tables are followed.
DEPTH = 20
#: Functions that give a frame, by the beginning of their names, and those that give a column.
FRAMES = ("pandas.read_", "pandas.DataFrame", "pandas.get_dummies", "pandas.merge")
COLUMNS = ("pandas.Series",)
#: Methods of frames and columns that give one of as many axes.
SAME_AXES = frozenset(
    {
        "abs", "astype", "clip", "copy", "drop", "drop_duplicates", "dropna", "fillna", "filter",
        "head", "interpolate", "query", "rename", "replace", "reset_index", "round", "sample",
        "select_dtypes", "set_index", "sort_index", "sort_values", "tail",
    }
)  # fmt: skip
PLACES = frozenset({"iloc", "loc"})
#: Attributes of frames that are no columns.
OTHERS = PLACES | {"values", "columns", "index", "shape", "dtypes", "T", "size", "at", "iat"}
#: What sklearn's data sets are made by, and its functions that take data apart or scale it.
SETS = ("sklearn.datasets.make_", "sklearn.datasets.load_", "sklearn.datasets.fetch_")
SPLIT = ".train_test_split"
SCALERS = "sklearn.preprocessing."
OF_LABELS = "LabelEncoder"
PARTS: dict[object, Shape] = {"data": (None, None), "target": (None,), 0: (None, None), 1: (None,)}


def axes_of(value: Value, depth: int = DEPTH) -> int | None:
    """How many axes a table of pandas has: 2 for a frame, 1 for a column; None for others."""
    if not isinstance(value, Opaque) or not depth:
        return None
    for name in called_names(value):
        if name.startswith(FRAMES) or name.startswith(COLUMNS):
            return 2 if name.startswith(FRAMES) else 1
    for word, receiver in method_calls(value):
        table = only(receiver, depth)
        if table is not None and word in SAME_AXES:
            return table
        if table == 2 and word == "pop":
            return 1
    if value.kind == "attribute" and value.name not in OTHERS:
        return 1 if only(value.operands[0], depth) == 2 else None
    return picked(value, depth) if value.kind == "item" else None


def only(values: Values, depth: int) -> int | None:
    """The number of axes that all of several tables have."""
    found = {axes_of(value, depth - 1) for value in values}
    return found.pop() if len(found) == 1 else None


def picked(value: Opaque, depth: int) -> int | None:
    """The axes of what an index picks out of a table."""
    base = value.operands[0]
    places = all(isinstance(one, Opaque) and one.name in PLACES for one in base) and bool(base)
    if places:
        held = {
            only(one.operands[0], depth)
            for one in base
            if isinstance(one, Opaque) and one.kind == "attribute"
        }
        table = held.pop() if len(held) == 1 else None
        if table is None or not isinstance(value.node, cst.Subscript):
            return None
        single = sum(
            isinstance(part.slice, cst.Index) and is_single(part.slice.value)
            for part in value.node.slice
        )
        return table - single or None
    table = only(base, depth)
    if isinstance(value.node, cst.Subscript) and isinstance(value.node.slice[0].slice, cst.Slice):
        return table
    index = only_constant(value.index)
    if table == 2 and index is not None:
        return 1 if isinstance(index.value, str) else None
    return table if table == 1 or (value.index and all(map(is_many, value.index))) else None


def is_single(index: cst.BaseExpression) -> bool:
    """Whether an index picks one row or column, as far as its text tells."""
    if isinstance(index, cst.UnaryOperation):
        return is_single(index.expression)
    return isinstance(index, cst.Integer | cst.SimpleString)


def is_many(index: Value) -> bool:
    """Whether an index picks several rows or columns: a list of names, or a condition."""
    return isinstance(index, Sequence) or (isinstance(index, Opaque) and index.kind != "element")


def shape_of(value: Opaque, of: Callable[[Values], Shape | None]) -> Shape | None:
    """The sizes of an array that a library's data gives, of which the axes are known alone.

    Args:
        value: the array.
        of: tells the sizes of other values.
    """
    receivers = [value.operands[0]] if value.kind == "attribute" and value.name == "values" else []
    receivers += [given for word, given in method_calls(value) if word == "to_numpy"]
    for given in receivers:
        axes = only(given, DEPTH)
        return None if axes is None else (None,) * axes
    for word, given in method_calls(value):
        if word in ("fit_transform", "transform", "inverse_transform"):
            names = [name for one in given for name in called_names(one)]
            if names and all(name.startswith(SCALERS) for name in names):
                return (None,) if any(OF_LABELS in name for name in names) else (None, None)
    if value.kind not in ("attribute", "item"):
        return None
    key = only_constant(value.index) if value.kind == "item" else Constant(value.name)
    makers = [name for one in value.operands[0] for name in called_names(one)]
    if key is None or not makers:
        return None
    if all(name.startswith(SETS) for name in makers):
        return PARTS.get(key.value)
    if all(name.endswith(SPLIT) for name in makers) and isinstance(key.value, int):
        shapes = {
            of(one.arguments.positional()[key.value // 2].values)
            for one in value.operands[0]
            if isinstance(one, Opaque) and key.value // 2 < len(one.arguments.positional())
        }
        shape = shapes.pop() if len(shapes) == 1 else None
        return (None, *shape[1:]) if shape else None
    return None
