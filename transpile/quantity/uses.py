"""What a script does with parts of a batch, as far as it tells that they are tensors."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.vocabulary import Batching

from .operations import words

#: Attributes and methods that tensors have, and lists, dicts and batches of libraries do not.
OF_TENSORS = words("""
    abs argmax detach dim double dtype exp flatten float half int item log long max mean min ndim
    new_ones new_zeros norm numel numpy permute reshape shape size squeeze std sum tolist transpose
    type unsqueeze view
    """)


#: Operators that join lists, too.
JOINING = (cst.Add, cst.Multiply, cst.Modulo, cst.BitOr)
COMPARING = (
    cst.Equal,
    cst.NotEqual,
    cst.LessThan,
    cst.LessThanEqual,
    cst.GreaterThan,
    cst.GreaterThanEqual,
)


@query
def tensors_by_use(plan: Plan) -> set[int]:
    """The identities of the values that the script uses as tensors somewhere."""
    found: set[int] = set()
    layers = plan.table.quantities.layers
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if node.attr.value.rstrip("_") in OF_TENSORS:
                found.update(id(value) for value in plan.facts.values_of(node.value))
        for operand in calculated(module):
            found.update(id(value) for value in plan.facts.values_of(operand))
    for event in plan.facts.calls:
        if any(
            (isinstance(one, External) and one.name.startswith(layers.functional))
            or any(name.startswith(layers.packages) for name in called_names(origin(one)))
            for one in event.callee
        ):
            for item in event.arguments.items:
                found.update(id(value) for value in item.values)
    return found


def calculated(module: Module) -> Iterator[cst.BaseExpression]:
    """The expressions of a module that are calculated with as no list or dict is.

    Operands of operators and of comparisons by size or entry by entry, and what a condition is
    put into the brackets of.
    """
    for operation in module.source.nodes_of(cst.BinaryOperation):
        if not isinstance(operation.operator, JOINING):
            yield from (operation.left, operation.right)
    for comparison in module.source.nodes_of(cst.Comparison):
        compares = [part for part in comparison.comparisons if isinstance(part.operator, COMPARING)]
        if compares:
            yield from (comparison.left, *(part.comparator for part in compares))
    for subscript in module.source.nodes_of(cst.Subscript):
        if is_masked(subscript):
            yield subscript.value


def is_masked(node: cst.CSTNode | None) -> bool:
    """Whether ``base[...]`` takes what a condition written there holds of."""
    return isinstance(node, cst.Subscript) and any(
        isinstance(element.slice, cst.Index)
        and isinstance(element.slice.value, (cst.Comparison, cst.UnaryOperation))
        and not isinstance(getattr(element.slice.value, "operator", None), (cst.Minus, cst.Not))
        for element in node.slice
    )


def gives_tensors(loader: Loader, words: Batching) -> bool:
    """Whether a loader's batches are tuples of tensors for certain."""
    dataset = loader.argument("dataset")
    return (
        dataset is not None
        and not loader.collating
        and all_of_tensors(dataset.values, set(), words)
    )


def all_of_tensors(datasets: Values, seen: set[int], words: Batching) -> bool:
    """Whether the samples of data sets are tuples of tensors, behind what picks or joins some."""
    if not datasets or any(id(value) in seen for value in datasets):
        return False
    seen |= set(map(id, datasets))
    return all(
        any(name.startswith(words.of_tensors) for name in called_names(value))
        or all_of_tensors(behind(value, words), seen, words)
        for value in datasets
    )


def behind(value: Value, words: Batching) -> Values:
    """The data sets that another one is made of, or that a value is one of; empty where unknown."""
    if isinstance(value, Sequence):
        return () if value.rest else tuple(one for part in value.elements for one in part)
    if not isinstance(value, Opaque):
        return ()
    if value.kind in ("item", "element"):
        return value.operands[0]
    given = value.arguments.get("datasets" if is_chain(value, words) else "dataset", 0)
    return given.values if given is not None and words.wrappers & set(called_names(value)) else ()


def is_chain(value: Opaque, words: Batching) -> bool:
    """Whether a data set is several, one behind the other."""
    return any(name in words.chains for name in called_names(value))
