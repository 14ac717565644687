"""Where the training step uses the batch size for something else than its loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Instance,
    Opaque,
    Sequence,
    Values,
)
from transpile.plan.data.batch_size_reads import (
    Use,
    also_evaluates,
    is_named,
    mentions,
    read_at,
    shapes,
)
from transpile.plan.flow.places import ancestors, calls_of, function_of
from transpile.plan.graph import identity, is_instance_of, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.holders import trace
from transpile.plan.models.widths import layer_widths
from transpile.plan.query import query

#: A call that makes batches in one context, and the size that it is given.
Maker = tuple[Event, Argument | None]


def uses(plan: Plan, argument: Argument, makers: Iterable[Maker]) -> Iterator[Use]:
    """What follows the size of a batch in the training step.

    What leads to the call that takes it for the batch size is divided there, once.

    Args:
        plan: the plan.
        argument: the batch size.
        makers: the calls that take it, or another that stands for it, in each context.
    """
    given = way_to_makers(plan, makers)
    for use in all_uses(plan, argument, given):
        if id(use.node) not in given:
            yield use


def way_to_makers(plan: Plan, makers: Iterable[Maker]) -> set[int]:
    """The expressions through which a batch size comes to the call that makes the batches."""
    return {
        id(holder.read or holder.node)
        for event, own in makers
        if own is not None and own.node is not None
        for holder in trace(plan.facts, event.module, own.node, event.stack)
    }


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
    reached = reached_in_steps(plan) - before
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call):
            continue
        if any(id(value) in reached for value in event.result):
            yield from rows_like(plan, event, argument.values)
            yield from rows_by_name(plan, event, argument.values, sources)
            yield from rows_one_by_one(plan, event, argument.values, sources)
        if not any(id(value) in reached for value in event.result) or not shapes(
            plan, event.callee
        ):
            continue
        for arg in event.node.args:
            for mentioned in mentions(plan, arg.value, sources):
                yield read_at(plan, event, mentioned, given)
        for node, values in given_numbers(event):
            # In this call a parameter is the batch size, which may be something else in others.
            if values and all(identity(value) in sources for value in values):
                yield read_at(plan, event, node, given)
        yield from numbers_like(plan, event, argument.values)
    yield from places_in_batches(plan, sources, reached)


@query
def reached_in_steps(plan: Plan) -> set[int]:
    """The identities of what a backward pass depends on other than as data of a loader.

    A dataset stays whole, though its length may be a multiple of the batch size.
    """
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    loaders = {id(loader.value) for loader in plan.training_loaders}
    return {
        id(value)
        for value in walk_back(
            losses, lambda value: not isinstance(value, Instance) and id(value) not in loaders
        )
    }


def given_numbers(event: Event) -> Iterator[tuple[cst.Name, Values]]:
    """The names that a call is given, also within a tuple or list, with what they are in it."""
    for item in event.arguments.items:
        if isinstance(item.node, cst.Name):
            yield item.node, item.values
        if not isinstance(item.node, (cst.Tuple, cst.List)) or len(item.values) != 1:
            continue
        held = item.values[0]
        if isinstance(held, Sequence) and len(held.elements) == len(item.node.elements):
            for element, values in zip(item.node.elements, held.elements, strict=True):
                if isinstance(element.value, cst.Name):
                    yield element.value, values


def numbers_like(plan: Plan, event: Event, batch_size: Values) -> Iterator[Use]:
    """A literal that counts the samples of a shape in the training step, and is the batch size."""
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant):
        return
    if not isinstance(event.node, cst.Call):
        return
    within = plan.in_training(event.stack)
    if not within and not any(id(value) in given_in_steps(plan) for value in event.result):
        return
    shaping, call = plan.table.shaping, event.node
    filled = any(isinstance(c, External) and c.name in shaping.filled for c in event.callee)
    viewed = any(
        isinstance(c, Opaque) and c.name in shaping.views and is_data(plan, c.operands[0])
        for c in event.callee
    )
    given = sizes(call, shaping.keywords)
    if any(isinstance(c, External) and c.name in shaping.viewing for c in event.callee):
        viewed = bool(call.args) and is_data(plan, plan.facts.values_of(call.args[0].value))
        given = sizes(call.with_changes(args=call.args[1:]), shaping.keywords)
    if not (filled or viewed):
        return
    for position, number in enumerate(given):
        if not isinstance(number, cst.Integer) or number.evaluated_value != batch_size[0].value:
            continue
        # A number alone may as well be that of what a layer gives for each sample.
        alone = len(given) == 1 and filled and number.evaluated_value in layer_widths(plan)
        seeded = any(arg.keyword and arg.keyword.value == "generator" for arg in call.args)
        if position == 0 and within and not alone and not seeded:
            yield Use(event.module, number, also_evaluates(plan, event.module, number))
        elif filled:
            yield may_be_it(event.module, number, number.value)


def rows_like(plan: Plan, event: Event, batch_size: Values) -> Iterator[Use]:
    """A literal number of rows of something new that samples meet, where it is the batch size.

    What is made so is the same in every process, or drawn by what is: a share of it cannot be
    had by another number.
    """
    shaping = plan.table.shaping
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant) or is_in_model(plan, event):
        return
    made = any(isinstance(c, External) and c.name in shaping.made for c in event.callee)
    drawn = any(
        isinstance(c, Opaque) and c.kind == "attribute" and c.name in shaping.draws
        for c in event.callee
    )
    assert isinstance(event.node, cst.Call)
    for number in first_numbers(event.node) if made or drawn else ():
        if number.evaluated_value == batch_size[0].value:
            yield may_be_it(event.module, number, event.module.source.code(number))


def may_be_it(module: Module, node: cst.BaseExpression, said: object) -> Use:
    """A number that is as large as the batch, and may be meant for it or not."""
    return Use(
        module,
        node,
        f"this number may be the batch size, which is {said}, too: of the batch a process "
        "has its share alone",
    )


def rows_by_name(
    plan: Plan, event: Event, batch_size: Values, sources: set[int | str]
) -> Iterator[Use]:
    """A number of rows that has another name than the batch size, and is as large."""
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant) or is_in_model(plan, event):
        return
    assert isinstance(event.node, cst.Call)
    shaping = plan.table.shaping
    shaped = any(
        (isinstance(one, External) and one.name in shaping.filled | shaping.made)
        or (isinstance(one, Opaque) and one.kind == "attribute" and one.name in shaping.views)
        for one in event.callee
    )
    given = sizes(event.node, shaping.keywords)
    # A number alone is more often that of what there is for each sample.
    for size in given[:1] if shaped and len(given) > 1 else ():
        if isinstance(size, (cst.Name, cst.Attribute)):
            values = plan.facts.values_of(size)
            if values == batch_size and not is_named(plan, size, sources):
                yield may_be_it(event.module, size, batch_size[0].value)


def rows_one_by_one(
    plan: Plan, event: Event, batch_size: Values, sources: set[int | str]
) -> Iterator[Use]:
    """A comprehension over as many numbers as the batch has samples, whose list becomes rows."""
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant) or is_in_model(plan, event):
        return
    joins = any(
        isinstance(c, External) and c.name in plan.table.shaping.joins for c in event.callee
    )
    for item in event.arguments.items[:1] if joins else ():
        for value in item.values:
            if not isinstance(value, Sequence) or not isinstance(value.node, cst.ListComp):
                continue
            for number in counted(value.node.for_in):
                values = plan.facts.values_of(number)
                like = isinstance(number, cst.Integer) and number.evaluated_value
                same = values == batch_size or like == batch_size[0].value
                module = next(m for m in plan.facts.modules.values() if m.source.has(value.node))
                if same and not is_named(plan, number, sources):
                    yield may_be_it(module, number, batch_size[0].value)


def is_in_model(plan: Plan, event: Event) -> bool:
    """Whether something happens in the code of a model, whose samples are looked at there."""
    return any(
        is_instance_of(value, plan.table.module_bases)
        for frame in calls_of(event.stack)
        for value in frame.receiver
    )


def first_numbers(call: cst.Call) -> Iterator[cst.Integer | cst.Float]:
    """The literals that come first: of the arguments, and of shapes among them."""
    for position, argument in enumerate(call.args):
        value = argument.value
        if isinstance(value, (cst.Tuple, cst.List)) and value.elements:
            value = value.elements[0].value
        elif position > 0 and argument.keyword is None:
            continue
        if isinstance(value, (cst.Integer, cst.Float)):
            yield value


@query
def given_in_steps(plan: Plan) -> set[int]:
    """The identities of what calls in the training step are given."""
    return {
        id(value)
        for event in plan.facts.calls
        if plan.in_training(event.stack)
        for item in event.arguments.items
        for value in item.values
    }


def sizes(call: cst.Call, keywords: frozenset[str]) -> list[cst.BaseExpression]:
    """The sizes that a call is given, one by one or in a tuple."""
    plain = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    named = [arg.value for arg in call.args if arg.keyword and arg.keyword.value in keywords]
    if named:
        plain = named[:1]
    if plain and isinstance(plain[0], (cst.Tuple, cst.List)):
        return [element.value for element in plain[0].elements]
    return plain


def is_data(plan: Plan, values: Values) -> bool:
    """Whether values are made of what a training loader delivered."""
    loaders = {id(loader.value) for loader in plan.training_loaders}
    return any(
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(id(source) in loaders for source in walk_back(value.operands[0]))
        for value in walk_back(values, lambda v: not isinstance(v, (Instance)))
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
        for node in module.source.nodes_of(cst.Subscript, cst.BinaryOperation, cst.For):
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
    if isinstance(node, (cst.For, cst.CompFor)) and isinstance(node.iter, cst.Call):
        if isinstance(node.iter.func, cst.Name) and node.iter.func.value == "range":
            return [arg.value for arg in node.iter.args]
    return []
