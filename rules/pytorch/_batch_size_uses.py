"""Where the training step uses the batch size for something else than its loader."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    BoundMethod,
    Constant,
    External,
    Instance,
    Opaque,
    Values,
)
from transpile.facts.walk import children, descendants
from transpile.plan.graph import identity, walk_back
from transpile.plan.holders import Holder, trace
from transpile.plan.learning import reached_by_losses
from transpile.plan.model import Plan
from transpile.plan.places import ancestors, function_of
from transpile.plan.roles.surroundings import gradients_off
from transpile.plan.sources import Site
from transpile.records import dataclass

#: Callables whose result takes its shape from their arguments.
SHAPED = frozenset(
    {
        "torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.rand", "torch.randn",
        "torch.randint", "torch.normal", "torch.Tensor", "torch.FloatTensor", "torch.arange",
        "torch.cuda.FloatTensor", "torch.eye", "numpy.random.normal", "numpy.random.uniform",
        "numpy.random.randn", "numpy.ones", "numpy.zeros", "numpy.random.randint",
        "numpy.random.rand", "numpy.full", "numpy.empty", "torch.LongTensor",
        "torch.cuda.LongTensor", "torch.reshape", "torch.split",
    }
)  # fmt: skip
#: Those of them whose first number counts samples where any does.
FILLED = frozenset(
    {
        "torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.rand", "torch.randn",
        "numpy.random.randn", "numpy.ones", "numpy.zeros", "numpy.random.rand", "numpy.full",
        "torch.FloatTensor", "torch.cuda.FloatTensor",
    }
)  # fmt: skip
VIEWS = frozenset({"view", "reshape", "expand", "resize_"})
SHAPED_METHODS = VIEWS | {
    "new_zeros", "new_ones", "new_full", "new_empty", "new", "repeat", "repeat_interleave",
    "unflatten", "split",
}  # fmt: skip
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


def uses(plan: Plan, site: Site, argument: Argument) -> Iterator[Use]:
    """What follows the batch size of a loader in the training step.

    What the loader itself is given on the way to its call is divided there, once.
    """
    given = way_to_loader(plan, site)
    for use in all_uses(plan, argument, given):
        if id(use.node) not in given:
            yield use


def way_to_loader(plan: Plan, site: Site) -> set[int]:
    """The expressions through which a batch size comes to the call that makes the loader."""
    found: set[int] = set()
    for loader in site.loaders:
        own = loader.argument("batch_size")
        if own is None or own.node is None:
            continue
        for holder in trace(plan.facts, site.module, own.node, loader.event.stack):
            found.add(id(holder.read or holder.node))
    return found


def all_uses(
    plan: Plan, argument: Argument, given: set[int], before: frozenset[int] = frozenset()
) -> Iterator[Use]:
    """What follows the size of a batch, what leads to the loader included.

    Args:
        plan: the plan.
        argument: the batch size.
        given: the expressions through which it comes to the loader.
        before: the identities of values that are made before batches are, and stay whole.
    """
    # A number is the batch size where it is the very number that the loader was given, not one
    # like it: names lead to the object that the literal became.
    given_as = (Constant, External, Instance, Opaque)
    sources = {identity(value) for value in argument.values if isinstance(value, given_as)}
    if not sources or argument.node is None:
        return
    reached = reached_by_losses(plan) - before
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        if not any(id(value) in reached for value in event.result) or not shapes(event.callee):
            continue
        for arg in event.node.args:
            for mentioned in mentions(plan, arg.value, sources):
                yield read_at(plan, event, mentioned, given)
        for item in event.arguments.items:
            # In this call a parameter is the batch size, which may be something else in others.
            if isinstance(item.node, cst.Name) and item.values:
                if all(identity(value) in sources for value in item.values):
                    yield read_at(plan, event, item.node, given)
        yield from numbers_like(plan, event, argument.values)
    yield from places_in_batches(plan, sources, reached)


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
            isinstance(around, cst.Call) and shapes(plan.facts.values_of(around.func))
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
    for event in plan.facts.events:
        if event.kind == "call" and id(event.node) in around and not event.detached:
            inner = [frame.node for frame in event.stack if isinstance(frame, Loop)][-1:]
            # In the loop of a training step, noise may go through a model without gradients.
            if gradients_off(event.stack, plan.table) and not steps.intersection(map(id, inner)):
                return (
                    "this follows the batch size in training, where each process has its share, "
                    "and in evaluation, where each has whole batches"
                )
    return ""


def shapes(callees: Values) -> bool:
    """Whether a call's result takes its shape from the arguments, or is a model's own method."""
    for callee in callees:
        if isinstance(callee, Opaque):
            if callee.kind == "attribute" and callee.name in SHAPED_METHODS:
                return True
        elif isinstance(callee, External):
            if callee.name in SHAPED:
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


def numbers_like(plan: Plan, event: Event, batch_size: Values) -> Iterator[Use]:
    """A literal that counts the samples of a shape in the training step, and is the batch size."""
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant):
        return
    if not isinstance(event.node, cst.Call):
        return
    within = plan.in_training(event.stack)
    if not within and not any(id(value) in given_in_steps(plan) for value in event.result):
        return
    filled = any(isinstance(c, External) and c.name in FILLED for c in event.callee)
    viewed = any(
        isinstance(c, Opaque) and c.name in VIEWS and is_data(plan, c) for c in event.callee
    )
    if not (filled or viewed):
        return
    for position, number in enumerate(numbers(event.node)):
        if not isinstance(number, cst.Integer) or number.evaluated_value != batch_size[0].value:
            continue
        if position == 0 and within:
            yield Use(event.module, number, also_evaluates(plan, event.module, number))
        elif filled:
            yield Use(
                event.module,
                number,
                f"this number may be the batch size, which is {number.value}, too: of the batch a "
                "process has its share alone",
            )


def given_in_steps(plan: Plan) -> set[int]:
    """The identities of what calls in the training step are given."""
    if "given in steps" not in plan.memo:
        plan.memo["given in steps"] = {
            id(value)
            for event in plan.facts.events
            if event.kind == "call" and plan.in_training(event.stack)
            for item in event.arguments.items
            for value in item.values
        }
    found: set[int] = plan.memo["given in steps"]
    return found


def numbers(call: cst.Call) -> list[cst.BaseExpression]:
    """The sizes that a call is given, one by one or in a tuple."""
    plain = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if plain and isinstance(plain[0], (cst.Tuple, cst.List)):
        return [element.value for element in plain[0].elements]
    return plain


def is_data(plan: Plan, method: Opaque) -> bool:
    """Whether a method belongs to something that a training loader delivered."""
    loaders = {id(loader.value) for loader in plan.training_loaders}
    return any(
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(id(source) in loaders for source in walk_back(value.operands[0]))
        for value in walk_back(method.operands[0], lambda v: not isinstance(v, (Instance)))
    )


def places_in_batches(plan: Plan, sources: set[int | str], reached: set[int]) -> Iterator[Use]:
    """Bounds of slices, offsets of indices and ranges over samples, all by the batch size."""
    loops = {
        id(frame.node)
        for backward in plan.backwards
        for frame in (backward.batch_loop,)
        if frame is not None
    }
    functions = {
        id(function.node)
        for event in plan.facts.events
        if plan.in_training(event.stack) and (function := event.function()) is not None
    }
    for module in plan.facts.modules.values():
        for node in descendants(module.source.tree):
            named = [each for each in counted(node) if is_named(plan, each, sources)]
            if not named:
                continue
            within = [node, *ancestors(module, node)]
            owner = function_of(module, node)
            if not loops.intersection(map(id, within)) and id(owner) not in functions:
                continue
            if not isinstance(node, cst.For) and not any(
                id(value) in reached for value in plan.facts.values_of(node)
            ):
                continue
            for each in named:
                yield Use(module, each)


def counted(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The numbers in an expression or loop that say where in a batch something is."""
    if isinstance(node, cst.Subscript):
        return [
            bound
            for element in node.slice
            if isinstance(element.slice, cst.Slice)
            for bound in (element.slice.lower, element.slice.upper)
            if bound is not None
        ]
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (cst.Add, cst.Subtract)):
            return [node.left, node.right]
    if isinstance(node, cst.For) and isinstance(node.iter, cst.Call):
        if isinstance(node.iter.func, cst.Name) and node.iter.func.value == "range":
            return [arg.value for arg in node.iter.args]
    return []
