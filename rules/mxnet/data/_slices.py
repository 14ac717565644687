"""Batches that a loop cuts out of arrays by index, as in ``x[i * size : (i + 1) * size]``."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Loop
from transpile.facts.module import Module
from transpile.facts.values import Constant, Function, Instance, Opaque, Value, Values
from transpile.plan.flow.places import function_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.mxnet._roles import Update, updates
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.losses._losses import is_size

NOT_SEEN = (
    "no loader or iterator can be seen that this training draws its batches from: there is nothing "
    "that could be given to the workers in parts"
)


@dataclass(frozen=True, eq=False)
class Cut:
    """A place that cuts a batch out of an array.

    Args:
        module: where it is.
        node: the expression.
        width: the number of samples, as it is written.
        value: the batch.
    """

    module: Module
    node: cst.Subscript
    width: cst.BaseExpression
    value: Value


@dataclass(frozen=True)
class Cuts:
    """How the batches of one update are cut.

    Args:
        update: the update.
        places: the places that cut them; empty where that cannot be told.
        why_not: why it cannot.
    """

    update: Update
    places: tuple[Cut, ...]
    why_not: str = ""


@query
def cuts_of(plan: Plan) -> list[Cuts]:
    """How the batches of all updates are cut that draw from no loader."""
    unfed = [u for u in updates(plan) if not u.loaders]
    return [cuts_for(plan, update) for update in unfed]


def cut_values(plan: Plan) -> set[int]:
    """The batches that are cut by index."""
    cuts = [cut for each in cuts_of(plan) for cut in each.places if not each.why_not]
    found: set[int] = set()
    return found.union(*({id(cut.value)} | given_on(plan, cut) for cut in cuts))


def cuts_for(plan: Plan, update: Update) -> Cuts:
    """How the batches of one update are cut."""
    loop = update.loop
    if update.trainer is None or loop is None:
        return Cuts(update, (), NOT_SEEN)
    losses = [
        backward.loss
        for backward in plan.backwards
        if any(
            isinstance(frame, Loop) and frame.node is loop.node for frame in backward.event.stack
        )
    ]
    behind = {id(value) for loss in losses for value in walk_back(loss, enters)}
    found = [
        cut
        for module in plan.facts.modules.values()
        for node in module.source.nodes
        if isinstance(node, cst.Subscript)
        for cut in cuts_at(plan, module, node)
        if id(cut.value) in behind or behind & given_on(plan, cut)
    ]
    if not found:
        return Cuts(update, (), NOT_SEEN)
    why = obstacle(plan, update, found)
    return Cuts(update, tuple({id(cut.node): cut for cut in found}.values()), why)


def enters(value: Value) -> bool:
    """Whether what a value is made of may be data."""
    return not isinstance(value, (Instance, Function))


def given_on(plan: Plan, cut: Cut) -> set[int]:
    """The values of the call that a batch is an argument of."""
    argument = cut.module.source.parent(cut.node)
    call = cut.module.source.parent(argument) if isinstance(argument, cst.Arg) else None
    values = plan.facts.values_of(call) if isinstance(call, cst.Call) else ()
    return {id(value) for value in values if not isinstance(value, Constant)}


def cuts_at(plan: Plan, module: Module, node: cst.Subscript) -> Iterator[Cut]:
    """The batches that a place cuts, if it cuts batches."""
    bounds = node.slice[0].slice
    if not isinstance(bounds, cst.Slice) or bounds.step is not None:
        return
    if bounds.lower is None or bounds.upper is None:
        return
    if from_store(plan.facts.values_of(bounds.lower), "rank"):
        return
    lower, upper = written(plan, bounds.lower), written(plan, bounds.upper)
    width = width_of(module, bounds.lower, lower, upper)
    if width is not None:
        for value in plan.facts.values_of(node):
            if not isinstance(value, Constant):
                yield Cut(module, node, width, value)


def written(plan: Plan, node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression behind a name, where it is one operation; ``min(end, length)`` is the end."""
    if isinstance(node, cst.Name):
        values = plan.facts.values_of(node)
        if len(values) == 1 and isinstance(values[0], Opaque):
            behind = values[0].node
            if isinstance(behind, (cst.BinaryOperation, cst.Call)):
                node = behind
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "min":
        ends = [each.value for each in node.args if isinstance(each.value, cst.BinaryOperation)]
        return ends[0] if len(ends) == 1 else node
    return node


def width_of(
    module: Module, first: cst.BaseExpression, lower: cst.BaseExpression, upper: cst.BaseExpression
) -> cst.BaseExpression | None:
    """The number of samples between two bounds; None where they are not one batch apart."""
    if not isinstance(upper, cst.BinaryOperation):
        return None
    begins = {text(module, first), text(module, lower)}
    left, right = upper.left, upper.right
    if isinstance(upper.operator, cst.Add):
        if text(module, left) in begins:
            return right
        return left if text(module, right) in begins else None
    if not isinstance(upper.operator, cst.Multiply) or not isinstance(lower, cst.BinaryOperation):
        return None
    if not isinstance(lower.operator, cst.Multiply):
        return None
    for count, size in ((left, right), (right, left)):
        for start, same in ((lower.left, lower.right), (lower.right, lower.left)):
            if text(module, size) == text(module, same) and is_next(module, count, start):
                return size
    return None


def is_next(module: Module, count: cst.BaseExpression, start: cst.BaseExpression) -> bool:
    """Whether one expression is another and one more."""
    return (
        isinstance(count, cst.BinaryOperation)
        and isinstance(count.operator, cst.Add)
        and {text(module, count.left), text(module, count.right)} == {text(module, start), "1"}
    )


def text(module: Module, node: cst.BaseExpression) -> str:
    """An expression without white space."""
    return "".join(module.source.code(node).split())


def obstacle(plan: Plan, update: Update, found: list[Cut]) -> str:
    """Why the workers cannot take their samples of batches that are cut so."""
    if plan.options.batch_size != "global" or plan.options.kvstore == "dist_async":
        return "batches are cut by index, for which only a synchronous global batch is known"
    argument = update.event.arguments.get("batch_size", 0)
    divisor = argument.values if argument is not None else ()
    for cut in found:
        same = bool(divisor) and divisor == plan.facts.values_of(cut.width)
        if not same and not reads(plan, divisor, cut):
            return (
                "batches are cut by index here, but the step does not divide by their number of "
                "samples: whether samples are cut, or steps of time, cannot be told"
            )
        if any(other.value is not cut.value and is_behind(plan, cut, other) for other in found):
            return "batches are cut out of what was cut already"
        function = function_of(cut.module, cut.node)
        if function is not None and len(callers(plan, function)) > 1:
            return "the function that cuts the batches is called from several places"
    return ""


def reads(plan: Plan, divisor: Values, cut: Cut) -> bool:
    """Whether a divisor is the number of samples of a cut."""
    batch = {id(cut.value)} | given_on(plan, cut)
    return is_size(divisor) and any(id(value) in batch for value in walk_back(divisor))


def is_behind(plan: Plan, cut: Cut, other: Cut) -> bool:
    """Whether one cut is made of another."""
    base = plan.facts.values_of(cut.node.value)
    return any(value is other.value for value in walk_back(base))


def callers(plan: Plan, function: cst.CSTNode) -> set[int]:
    """The calls that enter a function."""
    return {
        id(frame.node)
        for event in plan.facts.events
        for frame in event.stack
        if isinstance(frame, Call) and frame.function.node is function
    }
