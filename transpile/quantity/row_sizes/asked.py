"""The sizes that a view is asked for, and numbers that are computed from the sizes of tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import libcst as cst

from transpile.facts.values import Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls

from ..sample_axis.shapes import Given, integer
from .arithmetic import ONE_EACH, Shape, Size, divided, place, times

if TYPE_CHECKING:
    from ..analysis import Supposing


class Asked(ABC):
    """Reads sizes from what a program computes them from.

    Args:
        analysis: tells which values are batches, and of which loader.
    """

    def __init__(self, analysis: Supposing) -> None:
        self.analysis = analysis

    @abstractmethod
    def of(self, values: Values, depth: int) -> Shape | None:
        """The sizes of a tensor; None where not even their number is known."""

    def asked_sizes(self, value: Opaque, given: Given, depth: int) -> list[Size] | None:
        """The sizes that a view is asked for; None where not even their number is known."""
        if not given.arguments.rest or not isinstance(value.node, cst.Call):
            ordered = [item.values for item in given.arguments.positional()[given.offset :]]
            only = self.listed(ordered[0], depth) if len(ordered) == 1 else None
            if only is not None:
                return only
            return [self.number(values, depth) for values in given.positional()]
        values_of = self.analysis.plan.facts.values_of
        found: list[Size] = []
        for argument in value.node.args[given.offset :]:
            values = values_of(argument.value)
            spread = self.listed(values, depth) if argument.star == "*" else None
            if argument.star and spread is None:
                return None
            found += [self.number(values, depth)] if spread is None else spread
        return found

    def listed(self, values: Values, depth: int) -> list[Size] | None:
        """The sizes in a shape, or in a tuple or list; None for what is neither."""
        only = values[0] if len(values) == 1 else None
        if isinstance(only, Sequence):
            return None if only.rest else [self.number(each, depth) for each in only.elements]
        if not isinstance(only, Opaque) or not depth:
            return None
        if only.kind == "operation" and only.name == "Add":
            parts = [self.listed(operand, depth - 1) for operand in only.operands]
            known = [part for part in parts if part is not None]
            return [*known[0], *known[1]] if len(known) == 2 else None
        if only.kind == "item" and isinstance(only.node, cst.Subscript):
            part = only.node.slice[0].slice
            shape = self.listed(only.operands[0], depth - 1)
            return None if shape is None else self.cut_out(shape, part)
        if {"builtins.list", "builtins.tuple"} & set(called_names(only)):
            first = only.arguments.positional()[:1]
            return self.listed(first[0].values, depth - 1) if first else None
        tensor = shaped_by(only)
        shape_of = self.of(tensor, depth - 1) if tensor else None
        return list(shape_of) if shape_of is not None else None

    def cut_out(self, shape: list[Size], part: cst.BaseSlice) -> list[Size] | None:
        """What a slice takes out of a shape."""
        if not isinstance(part, cst.Slice):
            return None
        nodes = (part.lower, part.upper, part.step)
        values_of = self.analysis.plan.facts.values_of
        bounds = [None if node is None else integer(values_of(node)) for node in nodes]
        unknown = any(
            node is not None and bound is None for node, bound in zip(nodes, bounds, strict=True)
        )
        return None if unknown else shape[slice(*bounds)]

    def number(self, values: Values, depth: int) -> Size:
        """A size, or a number that is computed from sizes."""
        known = integer(values)
        only = values[0] if len(values) == 1 else None
        if known is not None or not isinstance(only, Opaque) or not depth:
            return known
        if only.kind == "operation" and len(only.operands) == 2:
            one, other = (self.number(operand, depth - 1) for operand in only.operands)
            if only.name == "Multiply":
                return times(one, other)
            return divided(one, other) if only.name in ("FloorDivide", "Divide") else None
        if "builtins.int" in called_names(only) and only.arguments.items:
            return self.number(only.arguments.items[0].values, depth - 1)
        return self.size(only, depth - 1)

    def size(self, value: Opaque, depth: int) -> Size:
        """The size of a tensor along an axis: ``x.size(0)``, ``x.shape[0]``, ``len(x)``."""
        tensor: Values = ()
        axis: int | None = 0
        if value.kind == "operation" and value.name == "len":
            tensor = value.operands[0]
        elif value.kind == "item":
            axis = integer(value.index)
            bases = value.operands[0]
            tensor = shaped_by(bases[0]) if len(bases) == 1 else ()
        elif value.kind == "call":
            given = value.arguments.get("dim", 0)
            axis = integer(given.values) if given is not None else None
            tensor = next((inner for word, inner in method_calls(value) if word == "size"), ())
        if not tensor or axis is None:
            return None
        found: Size = None
        shape = self.of(tensor, depth)
        at = place(axis, len(shape)) if shape else None
        if shape and at is not None:
            found = shape[at]
        if found is None and self.analysis.look((value,)).is_count:
            # The number of samples, as it is read from a tensor of one row for each.
            return ONE_EACH
        return found


def listed_sizes(values: Values) -> list[Values]:
    """The sizes in a tuple or list; empty for anything else."""
    only = values[0] if len(values) == 1 else None
    return list(only.elements) if isinstance(only, Sequence) and not only.rest else []


def shaped_by(value: Value) -> Values:
    """The tensor whose shape a value is: ``x.shape``, ``x.size()``."""
    if isinstance(value, Opaque) and value.kind == "attribute" and value.name == "shape":
        return value.operands[0]
    if isinstance(value, Opaque) and value.kind == "call" and not value.arguments.items:
        return next((inner for word, inner in method_calls(value) if word == "size"), ())
    return ()
