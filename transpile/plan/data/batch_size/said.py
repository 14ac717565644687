"""Where a script says a number that must grow everywhere: at a literal, or where it reads one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Stack
from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Mapping,
    Opaque,
    Values,
    only_constant,
)
from transpile.facts.walk import descendants
from transpile.plan.flow.places import calls_of, function_of
from transpile.plan.model import Plan
from transpile.plan.models.holders import Place, argument_place, attribute_step, name_step
from transpile.records import dataclass

#: Names and attributes between a size and where it is said.
MOST_STEPS = 20


@dataclass(frozen=True, eq=False)
class Said:
    """A place that says a number; `why_not` where it is not found."""

    module: Module
    node: cst.BaseExpression
    why_not: str = ""


def said_at(
    plan: Plan, module: Module, node: cst.BaseExpression, stack: Stack = ()
) -> Iterator[Said]:
    """The places that an expression has its number from: one literal, or all reads of an option."""
    place: Place = (module, node, stack)
    for _ in range(MOST_STEPS):
        module, found, stack = place
        assert isinstance(found, cst.BaseExpression)
        if isinstance(found, cst.Integer):
            yield Said(module, found)
            return
        places = list(
            {id(place[1]): place for place in origins(plan, module, found, stack)}.values()
        )
        if len(places) != 1:
            yield from option_or_nothing(plan, module, found)
            return
        place = places[0]


def origins(plan: Plan, module: Module, node: cst.BaseExpression, stack: Stack) -> list[Place]:
    """What an expression was given its value by."""
    if isinstance(node, cst.Name):
        return name_step(module, node, stack, []) or default_of(module, node, stack)
    if isinstance(node, cst.Attribute):
        return attribute_step(plan.facts, module, node, stack, [])
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        index = node.slice[0].slice
        key = only_constant(plan.facts.values_of(index.value)) if hasattr(index, "value") else None
        held = plan.facts.values_of(node.value)
        if key is not None and len(held) == 1 and isinstance(held[0], Mapping):
            entry = held[0].entries.get(key.value)
            if entry is not None and entry.node is not None and entry.module is not None:
                return [(entry.module, entry.node, ())]
    return []


def default_of(module: Module, node: cst.Name, stack: Stack) -> list[Place]:
    """The default of a parameter that the call around gives nothing."""
    function = function_of(module, node)
    calls = calls_of(stack)
    if function is None or not calls or calls[-1].function.node is not function:
        return []
    call = calls[-1].node
    params = (
        *function.params.posonly_params,
        *function.params.params,
        *function.params.kwonly_params,
    )
    names = [param.name.value for param in params]
    if node.value not in names or not isinstance(call, cst.Call):
        return []
    if any(argument.star for argument in call.args):
        return []
    if argument_place(function, node.value, calls, stack):
        return []
    default = params[names.index(node.value)].default
    return [] if default is None else [(calls[-1].function.module, default, ())]


def option_or_nothing(plan: Plan, module: Module, node: cst.BaseExpression) -> Iterator[Said]:
    """The reads of an option; else a word on why the number is not found."""
    values = plan.facts.values_of(node)
    if (
        isinstance(node, cst.Attribute)
        and values
        and all(isinstance(value, Opaque) and value.kind == "attribute" for value in values)
    ):
        yield from reads_of(plan, values)
    elif not isinstance(node, cst.Name) and reads_nothing(plan, node):
        yield Said(module, node)
    elif isinstance(node, cst.Name) and all(isinstance(value, Constant) for value in values):
        yield Said(module, node, f"`{node.value}` is not assigned once as a literal")
    else:
        yield Said(module, node, f"`{module.source.code(node)}` is no name and no option")


def reads_nothing(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression reads no variable of the script that may be read elsewhere, too."""
    names = [each for each in descendants(node) if isinstance(each, cst.Name)]
    return all(
        isinstance(value, External) for name in names for value in plan.facts.values_of(name)
    )


def reads_of(plan: Plan, values: Values) -> Iterator[Said]:
    """The places that read an option."""
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            parent = module.source.parent(node)
            if plan.facts.values_of(node) == values and not isinstance(parent, cst.AssignTarget):
                yield Said(module, node)
