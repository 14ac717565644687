"""Tensors into whose items something is written that gradients flow through."""

from __future__ import annotations

from collections.abc import Callable

from transpile.facts.values import Opaque, Value

from .. import algebra
from ..domain import Kind, Quantity


def with_items(found: Quantity, value: Value, look: Callable[[Value], Quantity]) -> Quantity:
    """What a tensor is once some of its items have been written.

    Rows stay rows whatever fills them; the gradients of what fills them are those of the tensor.

    Args:
        found: what the tensor was made as.
        value: the tensor.
        look: the quantity of what is written.
    """
    for one in value.written if isinstance(value, Opaque) else ():
        item = look(one)
        if not item.gradient or (item.kind is Kind.UNKNOWN and not item.sampled):
            continue
        if found.kind is Kind.SAMPLE and item.kind in (Kind.SAMPLE, Kind.EQUAL):
            found = found.with_gradient()
        elif found.kind is not Kind.UNKNOWN:
            found = algebra.join(found, item)
    return found
