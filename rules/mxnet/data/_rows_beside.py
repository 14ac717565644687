"""Rows of other arrays that a training step takes by how many samples its batches have."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque, Value, Values, only_constant
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.domain import Kind
from transpile.rules.mxnet._roles import Update, updates
from transpile.rules.mxnet.data._draws import FILLED, holds_batch
from transpile.rules.mxnet.data._slices import cuts_at
from transpile.rules.mxnet.gradients._divisors import is_batch_size
from transpile.rules.mxnet.losses._losses import shares
from transpile.rules.mxnet.losses._numbers import in_training

#: Functions and methods that take rows by where they stand.
TAKING = frozenset({"take", "slice_axis", "slice", "slice_like", "islice"})
#: Arrays of which all rows are alike.
ALIKE = FILLED - {f"{package}.empty" for package in ("mxnet.nd", "mxnet.np", "numpy")}
#: Methods and functions that give an array one row again and again.
REPEATING = frozenset(
    {"broadcast_to", "broadcast_axis", "broadcast_like", "ones_like", "zeros_like"}
)
Place = tuple[Module, cst.BaseExpression]


def rows_beside(plan: Plan) -> Iterator[Place]:
    """The places in training steps that take such rows for a loss, beside a loader's batches."""
    fed = [update for update in updates(plan) if update.loaders]
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    behind = {id(value): value for value in walk_back(losses, holds_batch)} if fed else {}
    for module in plan.facts.modules.values() if behind else ():
        for node in module.source.nodes:
            if isinstance(node, cst.Subscript):
                base = plan.facts.values_of(node.value)
                by: tuple[cst.CSTNode, ...] = tuple(each.slice for each in node.slice)
            elif isinstance(node, cst.Call) and word(node) in TAKING:
                base = taken_from(plan, node)
                by = tuple(node.args)
            else:
                continue
            reached = any(id(value) in behind for value in plan.facts.values_of(node))
            if not reached or not base or all(map(is_alike, base)) or in_training(plan, base):
                continue
            if any(counts_rows(plan, each) for each in by) or cuts_batches(plan, module, node, fed):
                yield module, node


def word(node: cst.Call) -> str:
    """The last word of what is called."""
    function = node.func
    if isinstance(function, cst.Attribute):
        return function.attr.value
    return function.value if isinstance(function, cst.Name) else ""


def taken_from(plan: Plan, node: cst.Call) -> Values:
    """What a call takes rows of: what its method belongs to, or its first argument."""
    function = node.func
    if isinstance(function, cst.Attribute):
        owner = plan.facts.values_of(function.value)
        if any(isinstance(value, Opaque) for value in owner):
            return owner
    return plan.facts.values_of(node.args[0].value) if node.args else ()


def is_alike(value: Value) -> bool:
    """Whether a value is an array of which all rows are alike, or no array at all."""
    if not isinstance(value, Opaque) or not ALIKE.isdisjoint(called_names(value)):
        return True
    words = {name.rpartition(".")[2] for name in called_names(value)}
    words |= {each.name for each in value.callee if isinstance(each, Opaque)}
    return not REPEATING.isdisjoint(words)


def counts_rows(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether an index is made of the number of samples of a training batch."""
    return any(
        is_row_count(plan, value)
        for part in descendants(node)
        if isinstance(part, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
        for value in walk_back(plan.facts.values_of(part))
    )


def is_row_count(plan: Plan, value: Value) -> bool:
    """Whether a value is the number of samples of a training batch."""
    if not isinstance(value, Opaque):
        return False
    batch: Values = ()
    if value.kind == "operation" and value.name == "len":
        batch = value.operands[0]
    elif value.kind == "attribute" and value.name == "size":
        batch = value.operands[0]
    elif value.kind == "item" and value.index == (Constant(0),):
        shapes = [v for v in value.operands[0] if isinstance(v, Opaque) and v.name == "shape"]
        batch = tuple(v for shape in shapes for v in shape.operands[0])
    if not batch or not in_training(plan, batch):
        return False
    found = shares(plan).of(batch)
    return found.kind is Kind.SAMPLE and found.dim == 0


def cuts_batches(plan: Plan, module: Module, node: cst.CSTNode, fed: list[Update]) -> bool:
    """Whether a place cuts as many rows as a batch of the script has, one batch after another."""
    if not isinstance(node, cst.Subscript):
        return False
    sizes = [
        constant.value
        for update in fed
        for loader in update.loaders
        for argument in (loader.argument("batch_size"),)
        if argument is not None
        for constant in (only_constant(argument.values),)
        if constant is not None
    ]
    for cut in cuts_at(plan, module, node):
        width = plan.facts.values_of(cut.width)
        constant = only_constant(width)
        if constant is not None and constant.value in sizes:
            return True
        if constant is None and is_batch_size(plan, width):
            return True
    return False
