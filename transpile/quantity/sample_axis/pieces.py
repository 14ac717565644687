"""Pieces of a batch that are taken by their place in it."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.values import Opaque, Sequence, Value, Values, only_constant
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

from ..domain import Kind, Quantity
from .collation import stacked_in

BY_PLACE = "it takes samples of a batch by their place"
#: Functions whose result holds several batches, one behind the other.
JOINS = frozenset({"cat", "concat", "concatenate", "vstack", "stack"})
REPEATS = frozenset({"repeat", "repeat_interleave", "expand", "tile"})
INTERLEAVES = frozenset({"stack", "dstack", "repeat_interleave"})


def takes_by_place(
    base: Quantity,
    value: Opaque,
    plan: Plan,
    is_whole: Callable[[Values], bool],
    is_joined: Callable[[Values], bool],
    repeats_each: Callable[[Values], bool],
) -> bool:
    """Whether ``base[...]`` takes some samples of a batch by their place.

    Each process has another share of the batch, of which the same places hold other samples.

    Args:
        base: the tensor of samples.
        value: what is taken.
        plan: the plan.
        is_whole: whether a bound of a slice is the number of samples of a batch.
        is_joined: whether a tensor holds several batches, one behind the other.
        repeats_each: whether it holds each row several times, before the next one.
    """
    taken = any(isinstance(one, Opaque) and one.kind == "element" for one in value.operands[0])
    collated = id(value.node) in stacked_in(plan)
    if taken and not collated:
        # A whole batch, of which a part is one of its tensors.
        return False
    if any(part.step is not None for part in sample_slice(base, value.node)):
        return collated or not is_interleaved(value.operands[0])
    bounds = [plan.facts.values_of(bound) for bound in sample_bounds(base, value.node)]
    if any(is_number(values) for values in bounds):
        return True
    counted = [values for values in bounds if only_constant(values) is None]
    if counted and repeats_each(value.operands[0]):
        # As many rows as there are samples are those of the first of them.
        return True
    return any(not is_whole(values) for values in counted) and not is_joined(value.operands[0])


def sample_bounds(base: Quantity, node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The bounds of the slice along the dimension that counts the samples."""
    return [
        bound
        for part in sample_slice(base, node)
        for bound in (part.lower, part.upper)
        if bound is not None
    ]


def sample_slice(base: Quantity, node: cst.CSTNode) -> list[cst.Slice]:
    """The slice along the dimension that counts the samples, if there is one."""
    if not isinstance(node, cst.Subscript) or base.dim is None or base.dim >= len(node.slice):
        return []
    before = [element.slice for element in node.slice[: base.dim]]
    if not all(isinstance(part, cst.Slice) for part in before):
        return []
    part = node.slice[base.dim].slice
    return [part] if isinstance(part, cst.Slice) else []


def is_number(values: Values) -> bool:
    """Whether a bound is a number of the script's own, and not the beginning."""
    constant = only_constant(values)
    return constant is not None and constant.value not in (0, None)


def is_plain_size(value: Value) -> bool:
    """Whether a number is a size as it is read, with nothing computed."""
    if any(word in ("size", "numel", "nelement") for word, _ in method_calls(value)):
        return True
    return isinstance(value, Opaque) and (value.kind == "item" or value.name == "len")


def is_interleaved(values: Values) -> bool:
    """Whether a tensor holds several rows of each sample, one behind the other."""
    return any(
        name.rpartition(".")[2] in INTERLEAVES
        for value in walk_back(values)
        for name in (*called_names(value), *(word for word, _ in method_calls(value)))
    )


def leaves_out(value: Value) -> bool:
    """Whether a value is made by a comprehension that passes over some of what it goes over."""
    node = value.node if isinstance(value, Sequence) else None
    clause = node.for_in if isinstance(node, cst.BaseComp) else None
    while clause is not None:
        if clause.ifs:
            return True
        clause = clause.inner_for_in
    return False


def handed(value: Opaque) -> Values:
    """The tensor that a function or method works on."""
    received = tuple(one for _, receivers in method_calls(value) for one in receivers)
    return received or tuple(one for item in value.arguments.items[:1] for one in item.values)


def picks_values(quantity: Quantity) -> bool:
    """Whether something holds each of what a batch has once: how many differs."""
    return quantity.kind is Kind.UNKNOWN and quantity.reason.startswith(
        ("'unique", "'bincount", "'nonzero", "'histc")
    )


@query
def indexed_stores(plan: Plan) -> dict[int, list[cst.Subscript]]:
    """Where something is written into a tensor by an index, by the identity of the tensor."""
    found: dict[int, list[cst.Subscript]] = {}
    for event in plan.facts.stores:
        if event.name == "[]" and isinstance(event.node, cst.Subscript):
            for base in event.callee:
                found.setdefault(id(base), []).append(event.node)
    return found


def sets_by_place(
    tensor: Quantity, node: cst.Subscript, counts: Callable[[cst.BaseExpression], bool]
) -> bool:
    """Whether an index takes certain samples of a share, such as the first or each second.

    Args:
        tensor: what is written into.
        node: the index.
        counts: whether a bound is computed from how many samples there are.
    """
    if tensor.dim is None or tensor.dim >= len(node.slice):
        return False
    part = node.slice[tensor.dim].slice
    if isinstance(part, cst.Index):
        return is_written_integer(part.value)
    if not isinstance(part, cst.Slice):
        return False
    bounds = [bound for bound in (part.lower, part.upper) if bound is not None]
    if part.step is not None or any(map(counts, bounds)):
        return True
    return bool(bounds) and all(map(is_written_integer, bounds))


def is_written_integer(node: cst.BaseExpression) -> bool:
    """Whether an expression is an integer, perhaps a negative one."""
    if isinstance(node, cst.UnaryOperation):
        return is_written_integer(node.expression)
    return isinstance(node, cst.Integer)
