"""Calls of models of libraries that compute their loss by themselves."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Opaque, Value
from transpile.plan.graph import called_names, origin
from transpile.plan.vocabulary import Head, Layers


def heads_of(call: Opaque, layers: Layers) -> list[Head]:
    """The heads of the models of libraries that a call may be one of; empty for other calls."""
    if layers.heads is None:
        return []
    names = [name for callee in call.callee for name in called_names(origin(callee))]
    return [head for name in names if (head := layers.heads(name)) is not None]


def is_beginning(value: Value) -> bool:
    """Whether a value is what a tuple begins with: ``outputs[:2]``."""
    if not isinstance(value, Opaque) or value.kind != "item":
        return False
    if not isinstance(value.node, cst.Subscript) or len(value.node.slice) != 1:
        return False
    part = value.node.slice[0].slice
    return isinstance(part, cst.Slice) and part.lower is None and part.step is None
