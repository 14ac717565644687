"""Numbers that are as large as a batch, and may be meant for its size or not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Sequence,
    Values,
)
from transpile.plan.data.batch_size.reads import (
    Use,
    also_evaluates,
    is_named,
)
from transpile.plan.flow.places import calls_of
from transpile.plan.graph import identity, is_instance_of, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.widths import layer_widths

#: Functions that spread as many numbers as they are told over what comes before.
SPREADING = frozenset({"linspace", "logspace", "geomspace"})


def numbers_like(plan: Plan, event: Event, batch_size: Values) -> Iterator[Use]:
    """A literal that counts the samples of a shape in the training step, and is the batch size."""
    if len(batch_size) != 1 or not isinstance(batch_size[0], Constant):
        return
    if not isinstance(event.node, cst.Call):
        return
    within = plan.in_training(event.stack)
    if not within and (is_in_model(plan, event) or learns(plan, event)):
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
    joins = any(isinstance(c, External) and c.name in shaping.joins for c in event.callee)
    assert isinstance(event.node, cst.Call)
    for number in row_numbers(event) if made or drawn else ():
        if number.evaluated_value == batch_size[0].value:
            yield may_be_it(event.module, number, event.module.source.code(number))
    for argument in event.node.args[:1] if joins else ():
        if entries(argument.value) == batch_size[0].value:
            yield may_be_it(event.module, argument.value, batch_size[0].value)


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
    counts = any(isinstance(one, External) and one.name in shaping.made for one in event.callee)
    given = spread_over(event) or sizes(event.node, shaping.keywords)
    # A number alone is more often that of what there is for each sample.
    for size in given[:1] if shaped and (counts or len(given) > 1) else ():
        if isinstance(size, (cst.Name, cst.Attribute)):
            # A parameter is what this call of the function gives it, whatever others do.
            here = [item.values for item in event.arguments.items if item.node is size]
            followed = any(identity(value) in sources for values in here for value in values)
            known = (plan.facts.values_of(size), *here)
            if batch_size in known and not followed and not is_named(plan, size, sources):
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


def may_be_it(module: Module, node: cst.BaseExpression, said: object) -> Use:
    """A number that is as large as the batch, and may be meant for it or not."""
    return Use(
        module,
        node,
        f"this number may be the batch size, which is {said}, too: of the batch a process "
        "has its share alone",
    )


def entries(node: cst.BaseExpression) -> int | None:
    """How many entries a list has that is written out, perhaps repeated."""
    if isinstance(node, cst.List):
        return (
            None
            if any(isinstance(e, cst.StarredElement) for e in node.elements)
            else len(node.elements)
        )
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        for listed, times in ((node.left, node.right), (node.right, node.left)):
            if isinstance(listed, cst.List) and isinstance(times, cst.Integer):
                return len(listed.elements) * times.evaluated_value
    return None


def learns(plan: Plan, event: Event) -> bool:
    """Whether a call makes what an optimizer changes, or what is said to learn."""
    learned = {id(tensor) for optimizer in plan.optimizers for tensor in optimizer.tensors}
    return event.arguments.keyword("requires_grad") is not None or any(
        id(value) in learned for value in event.result
    )


def row_numbers(event: Event) -> Iterator[cst.Integer | cst.Float]:
    """The literals that may say how many rows a call makes."""
    assert isinstance(event.node, cst.Call)
    told = spread_over(event)
    yield from (each for each in told if isinstance(each, (cst.Integer, cst.Float)))
    if not told:
        yield from first_numbers(event.node)


def spread_over(event: Event) -> list[cst.BaseExpression]:
    """How many numbers a call counts up in, where other arguments come before that.

    These are the third of ``linspace(0, 1, n)``, and the second of ``arange(0, n)``.
    """
    assert isinstance(event.node, cst.Call)
    words = {one.name.rpartition(".")[2] for one in event.callee if isinstance(one, External)}
    plain = [arg.value for arg in event.node.args if arg.keyword is None and not arg.star]
    named = {arg.keyword.value: arg.value for arg in event.node.args if arg.keyword is not None}
    if words & SPREADING:
        return plain[2:3] or [named[word] for word in ("steps", "num") if word in named]
    if "arange" in words:
        start = plain[0] if plain else named.get("start")
        stop = plain[1] if len(plain) > 1 else named.get("stop", named.get("end"))
        if stop is not None and isinstance(start, cst.Integer) and not start.evaluated_value:
            return [stop]
    return []


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


def sizes(call: cst.Call, keywords: frozenset[str]) -> list[cst.BaseExpression]:
    """The sizes that a call is given, one by one or in a tuple."""
    plain = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    named = [arg.value for arg in call.args if arg.keyword and arg.keyword.value in keywords]
    if named:
        plain = named[:1]
    if plain and isinstance(plain[0], (cst.Tuple, cst.List)):
        return [element.value for element in plain[0].elements]
    return plain


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


def is_data(plan: Plan, values: Values) -> bool:
    """Whether values are made of what a training loader delivered."""
    loaders = {id(loader.value) for loader in plan.training_loaders}
    return any(
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(id(source) in loaders for source in walk_back(value.operands[0]))
        for value in walk_back(values, lambda v: not isinstance(v, (Instance)))
    )


def is_in_model(plan: Plan, event: Event) -> bool:
    """Whether something happens in the code of a model, whose samples are looked at there."""
    return any(
        is_instance_of(value, plan.table.module_bases)
        for frame in calls_of(event.stack)
        for value in frame.receiver
    )
