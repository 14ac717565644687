"""The statements of a scope that bind a model's variable, and those that something happens in."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, Instance
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import calls_of, site_at
from transpile.plan.model import Model, Plan
from transpile.plan.models.holders import Holder


def sites_in_scope(plan: Plan, holder: Holder) -> list[tuple[cst.CSTNode, Event]]:
    """Where in the holder's scope something happens, each with the first event there.

    A function that trains several models is looked at in the calls that train this one.
    """
    within = [id(call.node) for call in calls_of(holder.stack)[: holder.depth]]
    key = f"sites in {id(holder.function)} at {holder.depth} within {within}"
    if key not in plan.memo:
        found: dict[int, tuple[cst.CSTNode, Event]] = {}
        for event in plan.facts.events:
            site = site_in_scope(holder, event)
            if within != [id(call.node) for call in calls_of(event.stack)[: holder.depth]]:
                continue
            if site is not None:
                found.setdefault(id(site), (site, event))
        plan.memo[key] = list(found.values())
    sites: list[tuple[cst.CSTNode, Event]] = plan.memo[key]
    return sites


def site_in_scope(holder: Holder, event: Event) -> cst.CSTNode | None:
    """Where in the holder's scope an event happens; None where it is elsewhere."""
    if holder.function is not None:
        calls = calls_of(event.stack)
        if len(calls) < holder.depth or holder.depth == 0:
            return None
        if calls[holder.depth - 1].function.node is not holder.function:
            return None
    return site_at(event, holder.depth)


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
