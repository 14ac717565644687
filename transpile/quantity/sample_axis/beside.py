"""Samples of one process that are laid beside all of the data, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transpile.facts.values import Instance, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, origin, parents
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.domain import Kind

from .axes import operands

if TYPE_CHECKING:
    from ..analysis import Supposing

BESIDE = (
    "samples of one process are laid beside the first of all the data, and are other ones with "
    "several processes"
)
#: Methods that give a tensor of the same rows.
SAME_ROWS = frozenset(
    {
        "bool", "byte", "clone", "contiguous", "cpu", "cuda", "detach", "double", "float", "half",
        "int", "long", "numpy", "squeeze", "to", "type", "astype", "copy", "tolist",
    }
)  # fmt: skip
#: Functions that give an array or a tensor of the same rows, by the end of their names.
COPIERS = ("tensor", "as_tensor", "from_numpy", "array", "asarray")
DEEPEST = 8


def lies_beside_all(analysis: Supposing, value: Opaque) -> bool:
    """Whether an operation pairs samples of batches with all data from its beginning on."""
    paired = operands(analysis, value)
    if len(paired) < 2:
        return False
    whole = all_data(analysis.plan)
    if not whole or not any(is_whole(values, whole, DEEPEST) for values in paired):
        return False
    return any(analysis.look(values).kind is Kind.SAMPLE for values in paired)


def is_given_places(analysis: Supposing, value: Opaque) -> bool:
    """Whether a model is called with rows that are picked by where samples stand in a share."""
    return (
        value.kind == "call"
        and analysis.is_model_call((value,))
        and not analysis.in_model(value)
        and any(
            given.kind is Kind.SAMPLE and given.content == "place"
            for item in value.arguments.items
            for given in (analysis.look(item.values),)
        )
    )


def is_whole(values: Values, whole: frozenset[int], depth: int) -> bool:
    """Whether some value is all data of a loader, or a slice of it, in another form perhaps."""
    return any(
        id(value) in whole or any(is_whole(inner, whole, depth - 1) for inner in forms_of(value))
        for value in (values if depth else ())
    )


def forms_of(value: Value) -> Iterator[Values]:
    """What a value is another form of, or a slice of."""
    if not isinstance(value, Opaque):
        return
    for word, receiver in method_calls(value):
        if word in SAME_ROWS:
            yield receiver
    if value.kind == "call" and value.arguments.items:
        if any(name.rpartition(".")[2] in COPIERS for name in called_names(value)):
            yield value.arguments.items[0].values
    node = value.node
    if value.kind == "item" and isinstance(node, cst.Subscript) and len(node.slice) == 1:
        part = node.slice[0].slice
        if isinstance(part, cst.Slice) and (part.lower is None or is_zero(part.lower)):
            yield value.operands[0]


def is_zero(node: cst.BaseExpression) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(node, cst.Integer) and node.evaluated_value == 0


@query
def all_data(plan: Plan) -> frozenset[int]:
    """The tensors that the data sets of training loaders are made of, by identity."""
    found: set[int] = set()
    for loader in plan.training_loaders:
        argument = loader.argument("dataset")
        for value in argument.values if argument is not None else ():
            data = origin(value)
            if isinstance(data, Instance):
                groups = list(data.attributes.values())
            else:
                groups = list(parents(data)) if isinstance(data, Opaque) else []
            found.update(id(one) for group in groups for one in group if isinstance(one, Opaque))
    return frozenset(found)
