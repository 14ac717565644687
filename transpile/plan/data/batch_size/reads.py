"""Where a number that follows the size of a batch is read, and whether it can be divided."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, External, Instance, Opaque, Values
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import ancestors
from transpile.plan.graph import identity
from transpile.plan.model import Plan
from transpile.plan.models.holders import Holder, trace
from transpile.plan.roles.surroundings import gradients_off
from transpile.records import dataclass

SCALING = (
    cst.Divide, cst.Multiply, cst.FloorDivide, cst.Modulo, cst.DivideAssign, cst.MultiplyAssign
)  # fmt: skip
COMPUTES = (
    "this function takes the batch size for a shape and for a number that it computes: the shape "
    "follows the share of a process, and what the number is of is not decided here"
)


@dataclass(frozen=True, eq=False)
class Use:
    """A number that is to be divided, or the reason why it cannot be.

    Args:
        module: where it is.
        node: the expression.
        obstacle: why it cannot be divided; empty where it can.
    """

    module: Module
    node: cst.BaseExpression
    obstacle: str = ""


def read_at(
    plan: Plan,
    event: Event,
    node: cst.BaseExpression,
    given: Collection[int] = frozenset(),
) -> Use:
    """Where the batch size is read that reaches an expression, through parameters.

    A function that gets it as a parameter may be called for evaluation, too, with a batch that is
    not divided: the argument of the call in training is what changes, unless a loader is made of
    that argument, too, which divides it itself.
    """
    if isinstance(node, cst.Name):
        for holder in trace(plan.facts, event.module, node, event.stack):
            read = holder.read or holder.node
            if id(read) in given:
                break
            if holder.is_parameter and computes_with(plan, holder):
                return Use(event.module, node, COMPUTES)
            if not holder.is_parameter and isinstance(read, cst.BaseExpression):
                return Use(holder.module, read, also_evaluates(plan, holder.module, read))
    return Use(event.module, node, also_evaluates(plan, event.module, node))


def computes_with(plan: Plan, holder: Holder) -> bool:
    """Whether a function multiplies or divides by a parameter, other than for a shape."""
    if holder.function is None:
        return False
    for node in descendants(holder.function.body):
        sides: list[cst.BaseExpression]
        if isinstance(node, cst.BinaryOperation):
            sides = [node.left, node.right]
        elif isinstance(node, cst.AugAssign):
            sides = [node.value]
        else:
            continue
        if not isinstance(node.operator, SCALING):
            continue
        if not any(isinstance(side, cst.Name) and side.value == holder.text for side in sides):
            continue
        if not any(
            isinstance(around, cst.Call) and shapes(plan, plan.facts.values_of(around.func))
            for around in ancestors(holder.module, node)
        ):
            return True
    return False


def also_evaluates(plan: Plan, module: Module, node: cst.CSTNode) -> str:
    """Why a number cannot be divided: evaluation, which sees whole batches, runs there, too."""
    steps = {
        id(loops[-1])
        for backward in plan.backwards
        if (loops := [f.node for f in backward.event.stack if isinstance(f, Loop)])
    }
    around = {id(node), *(id(outer) for outer in ancestors(module, node))}
    for event in plan.facts.calls:
        if id(event.node) in around and not event.detached:
            inner = [frame.node for frame in event.stack if isinstance(frame, Loop)][-1:]
            # In the loop of a training step, noise may go through a model without gradients.
            if gradients_off(event.stack, plan.table) and not steps.intersection(map(id, inner)):
                return (
                    "this follows the batch size in training, where each process has its share, "
                    "and in evaluation, where each has whole batches"
                )
    return ""


def shapes(plan: Plan, callees: Values) -> bool:
    """Whether a call's result takes its shape from the arguments, or is a model's own method."""
    for callee in callees:
        if isinstance(callee, Opaque):
            if callee.kind == "attribute" and callee.name in plan.table.shaping.methods:
                return True
        elif isinstance(callee, External):
            if callee.name in plan.table.shaping.callables:
                return True
        elif isinstance(callee, BoundMethod) and isinstance(callee.receiver, Instance):
            if callee.function.name not in ("forward", "__init__"):
                return bool(callee.receiver.cls.external_bases())
    return False


def mentions(plan: Plan, node: cst.CSTNode, sources: set[int | str]) -> list[cst.BaseExpression]:
    """The outermost names below an expression that are the batch size itself."""
    if is_named(plan, node, sources):
        assert isinstance(node, cst.BaseExpression)
        return [node]
    if isinstance(node, cst.Attribute):
        return []
    return [found for child in children(node) for found in mentions(plan, child, sources)]


def is_named(plan: Plan, node: cst.CSTNode, sources: set[int | str]) -> bool:
    """Whether an expression is a name of the batch size."""
    values = plan.facts.values_of(node)
    return (
        isinstance(node, (cst.Name, cst.Attribute, cst.Subscript))
        and bool(values)
        and all(identity(value) in sources for value in values)
    )
