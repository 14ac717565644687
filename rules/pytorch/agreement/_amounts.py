"""Numbers by which a training step changes parameters or gradients, beside its losses."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Value, Values
from transpile.plan.graph import behind, called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.noise import changes, models_of
from transpile.quantity.asking import Kind, Quantity, quantity
from transpile.rules.pytorch.agreement._decisions import sources
from transpile.rules.pytorch.agreement._divergence import Divergence
from transpile.rules.pytorch.agreement._steps import in_groups

CHANGED = "how parameters or gradients are changed"
#: Functions that cut gradients, with the parameter that says where.
CLIPPING = {
    "torch.nn.utils.clip_grad_norm_": "max_norm",
    "torch.nn.utils.clip_grad_norm": "max_norm",
    "torch.nn.utils.clip_grad_value_": "clip_value",
    "torch.nn.utils.clip_grad.clip_grad_norm_": "max_norm",
    "torch.nn.utils.clip_grad.clip_grad_value_": "clip_value",
}
#: Functions that put what they are given first into parameters.
PUTTING = frozenset(
    {
        "torch.nn.utils.vector_to_parameters",
        "torch.nn.utils.convert_parameters.vector_to_parameters",
    }
)
#: A place, what stands there, and what depends on it.
Amount = tuple[Event, cst.BaseExpression, str]


def amounts(plan: Plan) -> Iterator[Amount]:
    """The numbers that gradients are cut at, and those by which parameters are changed."""
    for event in plan.facts.events:
        if event.detached:
            continue
        for callee in event.callee if event.kind == "call" else ():
            name = callee.name if isinstance(callee, External) else ""
            limit = event.arguments.get(CLIPPING[name], 1) if name in CLIPPING else None
            if limit is not None and isinstance(limit.node, cst.BaseExpression):
                yield event, limit.node, "where gradients are cut"
            if name in PUTTING:
                for node in put(event)[:1]:
                    yield event, node, CHANGED
            if sets_options(plan, callee) and isinstance(event.node, cst.Call):
                for arg in event.node.args:
                    yield event, arg.value, "what the optimizer is set to"
        for changed, _, _ in changes(plan, event):
            if any(True for _ in models_of(plan, changed)):
                for node in put(event):
                    yield event, node, CHANGED
        if sets_layer(plan, event):
            for node in put(event):
                yield event, node, "what a layer is set to"


def sets_layer(plan: Plan, event: Event) -> bool:
    """Whether an event sets an attribute of a library's layer, such as how much it drops.

    Of losses, what they are set to is followed into what they give.
    """
    return (
        event.kind == "store"
        and event.name != "[]"
        and any(
            isinstance(value, Opaque)
            and value.kind == "call"
            and any(makes_layer(plan, name) for name in called_names(value))
            for value in event.callee
        )
    )


def makes_layer(plan: Plan, name: str) -> bool:
    """Whether a name is that of a library's class of layers, other than a loss."""
    word = name.rpartition(".")[2]
    packaged = name.startswith(plan.table.layer_packages)
    return packaged and word[:1].isupper() and not word.endswith("Loss")


def sets_options(plan: Plan, callee: object) -> bool:
    """Whether something is the ``update`` of an optimizer's parameter groups."""
    if not isinstance(callee, Opaque) or callee.kind != "attribute" or callee.name != "update":
        return False
    optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name == "param_groups"
        and any(id(one) in optimizers for one in value.operands[0])
        for value in walk_back(callee.operands[0], in_groups)
    )


def put(event: Event) -> list[cst.BaseExpression]:
    """The expressions that something is changed by."""
    if isinstance(event.node, cst.Call):
        return [arg.value for arg in event.node.args]
    if isinstance(event.node, cst.AugAssign):
        return [event.node.value]
    found: list[cst.BaseExpression] = sources(event)
    return found


def counts_samples(
    divergence: Divergence, node: cst.BaseExpression, within: frozenset[int] = frozenset()
) -> bool:
    """Whether a number grows or shrinks with how many samples a process has of a batch.

    A gradient that a count is a factor of goes back into itself in the next round, so that nothing
    is known of the product: its factors are.

    Args:
        divergence: what knows which numbers become those of the global batch.
        node: the number.
        within: the identities of the expressions that it is a part of.
    """
    plan, within = divergence.plan, within | {id(node)}
    values = plan.facts.values_of(node)
    found = quantity(plan, values)
    if found.kind is Kind.EQUAL:
        return is_own_count(found) and any(True for _ in own_counts(divergence, values))
    inner: list[cst.BaseExpression] = []
    if isinstance(node, cst.BinaryOperation):
        inner = [node.left, node.right]
    elif isinstance(node, cst.UnaryOperation):
        inner = [node.expression]
    elif isinstance(node, cst.Call):
        inner = [argument.value for argument in node.args]
        inner += [node.func.value] if isinstance(node.func, cst.Attribute) else []
    elif isinstance(node, (cst.Name, cst.Attribute)) and found.kind is Kind.UNKNOWN:
        made = (value.node for value in values if isinstance(value, Opaque))
        inner = [one for one in made if isinstance(one, (cst.BinaryOperation, cst.Call))]
    # The inner parts of a chain of operators have no values of their own.
    return found.kind in (Kind.UNKNOWN, Kind.NOTHING) and any(
        counts_samples(divergence, one, within) for one in inner if id(one) not in within
    )


def is_own_count(found: Quantity) -> bool:
    """Whether something grows or shrinks with the number of samples of a process, or may."""
    return found.kind is Kind.EQUAL and found.degree != 0 and not found.agreed


def is_mean_of_sums(divergence: Divergence, value: Value) -> bool:
    """Whether a sum over each process's samples is averaged: one of all of them is larger."""
    found = quantity(divergence.plan, (value,))
    averaged = id(getattr(value, "node", None)) in divergence.reductions.averaged
    return averaged and any(degree != 0 for degree in found.degrees)


def own_counts(divergence: Divergence, values: Values) -> Iterator[Value]:
    """The numbers of samples that values are computed from and that nothing reduces on the way."""
    reduced, plan = divergence.reductions, divergence.plan
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen | reduced.values:
            continue
        if id(getattr(value, "node", None)) in reduced.nodes:
            if is_mean_of_sums(divergence, value):
                yield value
            continue
        seen.add(id(value))
        made_of = behind(value)
        if isinstance(value, Opaque):
            taken_over_all = {id(one) for one in divergence.values.reduced_within(value)}
            made_of = [one for one in made_of if id(one) not in taken_over_all]
        inner = [quantity(plan, (one,)) for one in made_of]
        # What is computed from numbers of samples is as they are; sums are looked at elsewhere.
        counted = any(is_own_count(one) or one.kind is Kind.PART for one in inner)
        if is_own_count(quantity(plan, (value,))) and not counted:
            if len(made_of) == len(behind(value)):
                yield value
        pending.extend(made_of)
