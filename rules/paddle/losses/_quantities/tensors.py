"""What functions and methods of tensors make of the samples of a batch."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Arguments, Constant, Sequence, Values
from transpile.rules.paddle.losses import _words as words

from .domain import (
    EQUAL,
    MEAN,
    SAMPLES,
    SHAPE,
    SUM,
    Kind,
    Quantity,
    add,
    divide,
    mixed,
    multiply,
    nonlinear,
    unknown,
)

ARITHMETIC = {"add": add, "multiply": multiply, "divide": divide}


def of_word(word: str, arguments: Arguments, given: list[Quantity], method: bool) -> Quantity:
    """A function or method of tensors, by its name; its tensor comes first."""
    name = word.rstrip("_")
    tensor = given[0] if given else EQUAL
    if tensor.kind is Kind.UNKNOWN:
        return tensor
    if name in words.SAME:
        return tensor
    if name == "shape":
        return SHAPE if tensor.kind is Kind.SAMPLES else EQUAL
    if name in words.ARITHMETIC and len(given) > 1:
        return ARITHMETIC[words.ARITHMETIC[name]](tensor, given[1])
    if name in words.FACTORIES:
        return EQUAL
    if name == "add_n":
        return tensor
    reducing = name in words.MEANS or name in words.SUMS or name in words.OVER_ALL
    if reducing or name in words.ALONG:
        return reduction(name, arguments, tensor, method)
    if name in words.MIXING and tensor.kind is Kind.SAMPLES:
        return unknown(f"'{name}' may compare the samples of a batch with each other")
    if name in words.PAIRING:
        several = [one for one in given if one.kind is Kind.SAMPLES]
        if len(several) > 1 and name in ("matmul", "mm", "dot", "einsum", "cdist"):
            return unknown(f"'{name}' may compare the samples of a batch with each other")
    if name in words.ELEMENTWISE:
        return nonlinear(given)
    return mixed(given, f"'{word}'")


def reduction(name: str, arguments: Arguments, tensor: Quantity, method: bool) -> Quantity:
    """A sum, a mean or the like over some or all dimensions."""
    axis = arguments.keyword("axis") or arguments.keyword("dim")
    if axis is None:
        ordered = arguments.positional()[0 if method else 1 :]
        where = 1 if name in ("topk", "norm", "quantile") else 0
        axis = ordered[where] if len(ordered) > where else None
    chosen = axes(axis.values) if axis is not None else None
    if chosen == () or (chosen is None and axis is not None):
        return (
            tensor
            if tensor.kind in (Kind.EQUAL, Kind.NOTHING)
            else unknown(f"the dimensions of '{name}' are not known")
        )
    if tensor.kind is Kind.SAMPLES:
        if chosen is None and name in words.ALONG:
            return SAMPLES
        if chosen is not None and 0 not in chosen:
            return SAMPLES
        if chosen is None and name in words.MEANS:
            return MEAN
        if chosen is None and name in words.SUMS:
            return SUM
        if chosen == (0,) and name in words.MEANS:
            return MEAN
        if chosen == (0,) and name in words.SUMS:
            return SUM
        return unknown(f"'{name}' looks at all samples of the batch at once")
    if name in words.MEANS or name in words.SUMS:
        return tensor
    return nonlinear([tensor])


def axes(values: Values) -> tuple[int, ...] | None:
    """The dimensions that an argument names; empty where they are not known, None for all."""
    if len(values) != 1:
        return ()
    value = values[0]
    if isinstance(value, Constant):
        if value.value is None:
            return None
        return (value.value,) if isinstance(value.value, int) else ()
    if isinstance(value, Sequence) and not value.rest:
        found: list[int] = []
        for element in value.elements:
            inner = axes(element)
            if not inner or len(inner) != 1:
                return ()
            found.extend(inner)
        return tuple(found)
    return ()


def keeps_samples(node: cst.Subscript) -> bool:
    """Whether an index takes all samples: ``x[:, 0]``, ``x[...]``."""
    first = node.slice[0].slice
    if isinstance(first, cst.Slice):
        return first.lower is None and first.upper is None and first.step is None
    return isinstance(first, cst.Index) and isinstance(first.value, cst.Ellipsis)
