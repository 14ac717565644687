"""Batches of rows that are joined from samples, each of which may have another number of them.

Bags, graphs, packed sequences and boxes are put together so. A share of the samples has some number
of rows, and a mean over the rows of a batch is no mean of those of its shares.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.data.collation import functions_of, returned
from transpile.plan.data.data_code import body_of, called, given_to
from transpile.plan.graph import called_names, parents, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.roles.loaders import enters_iterator
from transpile.quantity.sample_axis.collation import parts_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._reported import reported

#: Functions that lay the rows of samples one behind the other.
JOINS = frozenset(
    {
        "torch.cat", "torch.concat", "torch.concatenate", "torch.vstack", "torch.hstack",
        "numpy.concatenate", "numpy.vstack", "numpy.hstack", "itertools.chain",
        "itertools.chain.from_iterable", "torch.nn.utils.rnn.pack_sequence",
    }
)  # fmt: skip
#: Losses that take the labels of all samples one behind the other, with their lengths.
BY_SEQUENCE = frozenset({"torch.nn.CTCLoss", "torch.nn.functional.ctc_loss"})
#: What several parts of a sample are written as, of which there are as many for each.
WRITTEN_OUT = (cst.List, cst.Tuple, cst.Set)
ITERATIONS = (cst.For, cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp)


def joined_rows(plan: Plan, loader: Loader) -> Iterator[Opaque]:
    """The rows, joined from several samples each with its own, that a loss is taken over."""
    losses = tuple(
        value
        for backward in plan.backwards
        if loader in backward.loaders
        for value in backward.loss
    )
    parts = list(parts_made(plan, loader))
    keys = {key for key, _, _ in parts}
    rows = {key for key, _, joined in parts if joined}
    beside = drawn(plan, loader, losses, past_models=False) & keys
    anywhere = drawn(plan, loader, losses, past_models=True)
    for key, part, joined in parts:
        # With nothing beside the outputs that is known to have a row for each sample, these are
        # rows of what the model is given.
        if joined and (key in beside or (key in anywhere and not beside - rows)):
            yield part


def counted_rows(plan: Plan) -> Iterator[tuple[cst.CSTNode, Module]]:
    """Where what is reported is made of joined rows, or of their number.

    What models make of the rows is left out.
    """
    found = reported(plan, VOCABULARY)
    shown = tuple(
        value
        for doubt in found.doubts.values()
        if isinstance(doubt.node, cst.BaseExpression)
        for value in plan.facts.values_of(doubt.node)
    )
    for loader in plan.training_loaders:
        parts = list(parts_made(plan, loader))
        rows = {key for key, _, joined in parts if joined}
        totals = {key for key, part, _ in parts if is_total(part)}
        for names, values in ((rows, tuple(found.numbers)), (totals, shown)):
            for value in takes(plan, loader, values, past_models=False) if names else ():
                if key_of(value, loader) in names:
                    yield value.node, value.module


def is_total(part: Opaque) -> bool:
    """Whether a part of a batch is a number that is added up over its samples."""
    return "builtins.sum" in called_names(part)


def parts_made(plan: Plan, loader: Loader) -> Iterator[tuple[str, Opaque, bool]]:
    """The parts of a loader's batches with their keys, and whether each is made of joined rows."""
    for function in functions_of(given_to(loader, "collate_fn")):
        joins = joins_of(plan, function)
        for values in returned(plan, function):
            for batch in values:
                for key, parts in entries(batch):
                    for part in parts:
                        if isinstance(part, Opaque):
                            made = walk_back((part,))
                            joined = is_joined(part) or any(id(one) in joins for one in made)
                            yield str(key), part, joined


def entries(batch: Value) -> Iterator[tuple[object, Values]]:
    """The parts of a batch by position, key or attribute."""
    if isinstance(batch, Instance):
        yield from batch.attributes.items()
    else:
        yield from parts_of(batch)


@query
def joins_of(plan: Plan, function: Function) -> set[int]:
    """The identities of what holds rows of several samples in a collate function."""
    found: set[int] = set()
    pending, seen = [function], set()
    while pending:
        current = pending.pop()
        if id(current.node) in seen:
            continue
        seen.add(id(current.node))
        for node in body_of(current):
            if isinstance(node, cst.BaseExpression) and joins(plan, current, node):
                found.update(map(id, plan.facts.values_of(node)))
            grown = grown_by(current, node)
            if grown is not None:
                lists = plan.facts.values_of(grown)
                found.update(id(one) for one in lists if isinstance(one, Sequence))
            if isinstance(node, cst.Call):
                for value in plan.facts.values_of(node.func):
                    pending.extend(called(value))
    return found


def joins(plan: Plan, function: Function, node: cst.BaseExpression) -> bool:
    """Whether an expression lays rows of several samples one behind the other."""
    if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
        inner = node.for_in.inner_for_in
        return inner is not None and not isinstance(inner.iter, WRITTEN_OUT)
    if not isinstance(node, cst.Call) or not node.args:
        return False
    names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
    flattens = names == {"builtins.sum"} and len(node.args) == 2
    if not (names and names <= JOINS) and not flattens:
        return False
    # Within a loop over the samples, these are the parts of one of them.
    return not isinstance(node.args[0].value, WRITTEN_OUT) and not is_repeated(function, node)


def is_repeated(function: Function, node: cst.CSTNode) -> bool:
    """Whether a node of a function stands in a loop or comprehension of it."""
    for around in function.module.source.parents_of(id(node)):
        if around is function.node:
            return False
        if isinstance(around, ITERATIONS):
            return True
    return False


def grown_by(function: Function, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The list that a statement in a loop adds several entries to, as many as there may be."""
    target: cst.BaseExpression | None = None
    added: cst.BaseExpression | None = None
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
        target, added = node.target, node.value
    elif (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "extend"
        and node.args
    ):
        target, added = node.func.value, node.args[0].value
    if target is None or isinstance(added, WRITTEN_OUT) or not is_repeated(function, node):
        return None
    return target


def drawn(plan: Plan, loader: Loader, values: Values, *, past_models: bool) -> set[str]:
    """The keys of the parts of a loader's batches that values are made of."""
    return {key_of(value, loader) for value in takes(plan, loader, values, past_models=past_models)}


def takes(plan: Plan, loader: Loader, values: Values, *, past_models: bool) -> Iterator[Opaque]:
    """Where values, or what they are made of, are taken out of a loader's batches.

    Args:
        plan: the plan.
        loader: the loader.
        values: the values.
        past_models: go on behind the outputs of models.
    """
    outputs = (
        set()
        if past_models
        else {id(v) for model in plan.models for one in model.forwards for v in one.result}
    )
    for value in walked(values, outputs):
        if isinstance(value, Opaque) and (
            is_batch(value, loader)
            or (
                value.kind in ("item", "attribute")
                and any(is_batch(one, loader) for one in value.operands[0])
            )
        ):
            yield value


def walked(values: Values, outputs: set[int]) -> Iterator[Value]:
    """What values came from, up to outputs; of losses by sequence, all but the joined labels.

    These divide by the length of each sample's labels and take the mean over the samples.
    """
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if id(value) in outputs:
            continue
        labels: Values = ()
        if isinstance(value, Opaque) and BY_SEQUENCE & {*made_by(value)}:
            given = value.arguments.get("targets", 1)
            labels = given.values if given is not None else ()
        for group in parents(value):
            pending.extend(() if labels and group is labels else group)


def made_by(value: Opaque) -> Iterator[str]:
    """The functions that a call may be of, and the layers."""
    yield from called_names(value)
    for callee in value.callee:
        yield from called_names(callee)


def key_of(value: Opaque, loader: Loader) -> str:
    """The key of a part of a batch; that of a batch that is one tensor for the batch itself."""
    if is_batch(value, loader):
        return "None"
    written = only_constant(value.index)
    return str(written.value) if written is not None else value.name


def is_batch(value: Value, loader: Loader) -> bool:
    """Whether a value is what a loop draws from a loader."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(one is loader.value for one in walk_back(value.operands[0], enters_iterator))
    )


def is_joined(part: Opaque) -> bool:
    """Whether a part of a batch is joined along its first dimension."""
    if not any(name in JOINS for name in called_names(part)):
        return False
    dimension = part.arguments.get("dim", 1) or part.arguments.keyword("axis")
    return dimension is None or dimension.values == (Constant(0),)
