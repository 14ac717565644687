"""The statements of a scope that bind a model's variable, and those that something happens in."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, Instance, Sequence
from transpile.facts.walk import children, descendants, returned
from transpile.plan.flow.places import calls_of, site_at
from transpile.plan.model import Model, Plan
from transpile.plan.models.holders import Holder
from transpile.plan.query import query


def sites_in_scope(plan: Plan, holder: Holder) -> list[tuple[cst.CSTNode, Event]]:
    """Where in the holder's scope something happens, each with the first event there.

    A function that trains several models is looked at in the calls that train this one.
    """
    within = [call.node for call in calls_of(holder.stack)[: holder.depth]]
    return _sites_within(plan, holder.function, holder.depth, *within)


@query
def _sites_within(
    plan: Plan, function: cst.FunctionDef | None, depth: int, *within: cst.CSTNode | None
) -> list[tuple[cst.CSTNode, Event]]:
    found: dict[int, tuple[cst.CSTNode, Event]] = {}
    for event in plan.facts.events:
        site = site_within(function, depth, event)
        around = calls_of(event.stack)[:depth]
        if len(around) != len(within) or any(
            call.node is not node for call, node in zip(around, within, strict=True)
        ):
            continue
        if site is not None:
            found.setdefault(id(site), (site, event))
    return list(found.values())


def site_in_scope(holder: Holder, event: Event) -> cst.CSTNode | None:
    """Where in the holder's scope an event happens; None where it is elsewhere."""
    return site_within(holder.function, holder.depth, event)


def site_within(function: cst.FunctionDef | None, depth: int, event: Event) -> cst.CSTNode | None:
    """Where in a function, so many calls deep, an event happens; None where it is elsewhere."""
    if function is not None:
        calls = calls_of(event.stack)
        if len(calls) < depth or depth == 0:
            return None
        if calls[depth - 1].function.node is not function:
            return None
    return site_at(event, depth)


def binding_nodes(plan: Plan, holder: Holder) -> list[cst.CSTNode]:
    """The assignments to a variable within its scope."""
    owner: cst.CSTNode = holder.function or holder.module.source.tree
    found: list[cst.CSTNode] = []
    stack: list[cst.CSTNode] = list(children(owner))
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        if isinstance(node, cst.Assign):
            for target in node.targets:
                if holder.module.source.code(target.target) == holder.text:
                    if not sets_mode(holder, node.value):
                        found.append(node)
                elif isinstance(target.target, (cst.Tuple, cst.List)):
                    for element in target.target.elements:
                        if holder.module.source.code(element.value) == holder.text:
                            found.append(node)
        stack.extend(children(node))
    found.sort(key=lambda node: holder.module.source.span(node).start)
    return found


def may_bind(plan: Plan, node: cst.CSTNode, model: Model) -> bool:
    """Whether an assignment may give a variable this model, and not certainly another object."""
    values = plan.facts.values_of(node.value) if isinstance(node, cst.Assign) else ()
    return not values or any(
        not isinstance(value, (Instance, Constant)) or value is model.value for value in values
    )


def gives_back(plan: Plan, node: cst.CSTNode, model: Model, uses: list[cst.CSTNode]) -> bool:
    """Whether a variable is given its own value by one of several ``net = train(net)``."""
    if not isinstance(node, cst.Assign) or len({id(use) for use in uses}) < 2:
        return False
    inside = {id(one) for one in (node.value, *descendants(node.value))}
    if not any(id(use) in inside for use in uses):
        return False
    values = plan.facts.values_of(node.value)
    return bool(values) and all(
        value is model.value
        or (isinstance(value, Sequence) and any(model.value in part for part in value.elements))
        for value in values
    )


def comes_back(plan: Plan, model: Model, holders: list[Holder]) -> bool:
    """Whether a function that is called with a model several times hands it back each time."""
    function, depth = holders[0].function, holders[0].depth
    calls = {tuple(id(call.node) for call in calls_of(holder.stack)[:depth]) for holder in holders}
    if function is None or len(calls) < 2:
        return False
    return any(
        value is model.value or (isinstance(value, Sequence) and model.value in value.every())
        for node in returned(function)
        for value in plan.facts.values_of(node)
    )


def sets_mode(holder: Holder, value: cst.BaseExpression) -> bool:
    """Whether a variable is given its own value by ``net = net.train()`` or ``net.eval()``."""
    return (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Attribute)
        and value.func.attr.value in ("train", "eval")
        and holder.module.source.code(value.func.value) == holder.text
    )


def assigned_as_global(module: Module, text: str) -> bool:
    """Whether a function assigns a variable that it declares global."""
    for function in descendants(module.source.tree):
        if not isinstance(function, cst.FunctionDef):
            continue
        inside = list(descendants(function.body))
        declared = any(
            isinstance(node, cst.Global) and any(item.name.value == text for item in node.names)
            for node in inside
        )
        if declared and any(
            isinstance(node, cst.AssignTarget)
            and text in {n.value for n in descendants(node.target) if isinstance(n, cst.Name)}
            for node in inside
        ):
            return True
    return False
