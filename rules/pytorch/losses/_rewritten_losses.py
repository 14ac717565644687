"""Losses that are rewritten so that their weights count over all processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout import (
    add_argument,
    insert_after,
    replace_argument_value,
    replace_expression,
)
from transpile.layout.calls import LINE_LENGTH
from transpile.plan.model import Plan
from transpile.quantity.asking import WeightedLoss
from transpile.rule import Change, Helper, In
from transpile.rules.pytorch.losses._multiples import is_simple, needs_parentheses, surrounded
from transpile.rules.pytorch.losses._shuffled_evaluations import (
    SHUFFLED,
    evaluates_shuffled,
    takes_gradients,
)


def argument(call: cst.Call, name: str, position: int) -> cst.Arg | None:
    """An argument as it is written, by keyword or by position."""
    for given in call.args:
        if given.keyword is not None and given.keyword.value == name:
            return given
    for index, given in enumerate(call.args):
        if given.star or given.keyword is not None:
            return None
        if index == position:
            return given
    return None


def loss_obstacle(plan: Plan, module: Module, loss: WeightedLoss) -> str:
    """Why the call of a loss cannot be rewritten; empty where it can."""
    call = loss.call
    counts_entries = not loss.weight and not loss.ignore_index
    if counts_entries and evaluates_shuffled(plan, module, call):
        return str(SHUFFLED)
    if takes_gradients(plan, module, call):
        return str(SHUFFLED)
    target = argument(call, "target", 1)
    if target is None or any(given.star for given in call.args):
        return "the arguments of the loss are unpacked from something else"
    if not is_simple(target.value):
        return "its target is computed in the call, and would be computed twice"
    if loss.built is None:
        for name, position in (("weight", 2), ("ignore_index", 4), ("reduction", 6)):
            written = argument(call, name, position)
            if written is not None and not is_simple(written.value):
                return f"its {name} is computed in the call, and would be computed twice"
        for name, position in (("size_average", 3), ("reduce", 5)):
            if argument(call, name, position) is not None:
                return f"it is told how to reduce by '{name}', which is out of use"
        return ""
    if not is_simple(call.func):
        return "the loss is made where it is called"
    if len(plan.facts.values_of(call.func)) != 1:
        return "another loss is called there, too"
    for name in ("size_average", "reduce"):
        if any(
            given.keyword is not None and given.keyword.value == name for given in loss.built.args
        ):
            return f"it is told how to reduce by '{name}', which is out of use"
    return ""


def rewritten_loss(plan: Plan, module: Module, loss: WeightedLoss) -> Iterator[Change]:
    """The sum of a loss over its averaged denominator."""
    source = module.source
    call = loss.call
    target = argument(call, "target", 1)
    assert target is not None
    settings: list[str] = []
    if loss.built is None:
        weight_node = argument(call, "weight", 2)
        ignore_node = argument(call, "ignore_index", 4)
        weight = text_of(module, weight_node.value) if weight_node is not None else ""
        ignore = text_of(module, ignore_node.value) if ignore_node is not None else "-100"
        reduction = argument(call, "reduction", 6)
        if reduction is not None:
            for edit in replace_argument_value(source, call, reduction, '"sum"'):
                yield In(module, edit)
        else:
            settings.append('reduction="sum"')
    else:
        criterion = source.code(object_called(call))
        weight, ignore = f"{criterion}.weight", f"{criterion}.ignore_index"
        functional = plan.names_in(module).imported("torch.nn.functional", "F")
        word = loss.function.rpartition(".")[2]
        for edit in replace_expression(source, call.func, f"{functional}.{word}"):
            yield In(module, edit)
        if loss.weight:
            settings.append(f"weight={weight}")
        if loss.ignore_index:
            settings.append(f"ignore_index={ignore}")
        if smooths(loss.built):
            settings.append(f"label_smoothing={criterion}.label_smoothing")
        settings.append('reduction="sum"')
    for position, setting in enumerate(settings):
        for edit in add_argument(source, call, setting, position):
            yield In(module, edit)
    of = text_of(module, target.value)
    helper = "reduce_mean"
    if evaluates_shuffled(plan, module, call):
        helper = "reduce_mean_in_training"
    if loss.weight and loss.ignore_index:
        counted = f"{weight}[{of}[{of} != {ignore}]].sum()"
    elif loss.weight:
        counted = f"{weight}[{of}].sum()"
    elif loss.ignore_index:
        counted = f"({of} != {ignore}).sum()"
    else:
        helper, counted = "mean_size", of
    yield Helper(helper, module)
    average = f"{plan.names_in(module).fresh(helper)}({counted})"
    grown = sum(len(setting) + 2 for setting in settings) + len(f" / {average}")
    name = assigned_name(module, call)
    if name and end_of_line(module, call) + grown > LINE_LENGTH:
        statement = statement_of(module, call)
        for edit in insert_after(source, statement, [f"{name} = {name} / {average}"]):
            yield In(module, edit)
        return
    before, after = "", f" / {average}"
    if needs_parentheses(module, call):
        before, after = "(", f"{after})"
    yield from surrounded(module, call, before, after)


def object_called(call: cst.Call) -> cst.BaseExpression:
    """The loss behind a call of it, by name or by its method."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value == "forward":
        return function.value
    return function


def assigned_name(module: Module, node: cst.BaseExpression) -> str:
    """The only name that a statement binds to the expression; empty where it does another thing."""
    statement = module.source.parent(node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0].target
    return target.value if isinstance(target, cst.Name) else ""


def statement_of(module: Module, node: cst.CSTNode) -> cst.BaseSmallStatement:
    """The small statement that an expression belongs to."""
    for around in module.source.parents(node):
        if isinstance(around, cst.BaseSmallStatement):
            return around
    raise ValueError("the expression is not part of a small statement")


def end_of_line(module: Module, node: cst.CSTNode) -> int:
    """The column behind an expression."""
    end = module.source.span(node).end
    return end - module.source.line_start(end)


def text_of(module: Module, node: cst.BaseExpression) -> str:
    """The text of an expression, so that it can stand as an operand."""
    text = module.source.code(node)
    if node.lpar or isinstance(
        node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.Integer, cst.UnaryOperation)
    ):
        return text
    return f"({text})"


def smooths(built: cst.Call) -> bool:
    """Whether a loss is made with label smoothing."""
    return (
        any(
            given.keyword is not None and given.keyword.value == "label_smoothing"
            for given in built.args
        )
        or len(built.args) > 5
    )
