"""On what conditions names are bound, places are reached and calls return."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.walk import children, descendants
from transpile.plan.places import ancestors, function_of

Binding = tuple[cst.CSTNode, cst.CSTNode | None]


def bindings_of(module: Module, node: cst.Name) -> list[Binding]:
    """The statements that bind a name in its scope, each with the expression that it is given."""
    function: cst.CSTNode | None = function_of(module, node)
    while function is not None:
        found = assignments(function).get(node.value)
        if found is not None:
            if found:
                return found
            break
        if node.value in parameter_names(function):
            return []
        function = function_of(module, function)
    found = list(assignments(module.source.tree).get(node.value, ()))
    for other in module.source.nodes:
        if isinstance(other, cst.FunctionDef) and assignments(other).get(node.value) == []:
            found.extend(assignments(other, node.value).get(node.value, ()))
    return found


def carried(module: Module, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What a loop gives to a name in its own condition, for the rounds behind the first."""
    inner = node
    for outer in ancestors(module, node):
        if isinstance(outer, cst.While) and inner is outer.test and isinstance(node, cst.Name):
            for statement, value in bindings_of(module, node):
                if isinstance(value, cst.BaseExpression):
                    if any(around is outer for around in ancestors(module, statement)):
                        yield value
        if isinstance(outer, (cst.BaseStatement, cst.SimpleStatementLine)):
            return
        inner = outer


def parameter_names(function: cst.CSTNode) -> set[str]:
    """The names of a function's parameters."""
    if not isinstance(function, cst.FunctionDef):
        return set()
    parameters = function.params
    return {
        parameter.name.value
        for parameter in (
            *parameters.posonly_params,
            *parameters.params,
            *parameters.kwonly_params,
        )
    }


def assignments(owner: cst.CSTNode, declared_name: str = "") -> dict[str, list[Binding]]:
    """The names that a function or module binds itself; empty where it declares them global.

    Args:
        owner: the function or module.
        declared_name: a name whose bindings are wanted although it is declared global.
    """
    found: dict[str, list[Binding]] = {}
    declared: set[str] = set()
    body = owner.body  # type: ignore[attr-defined]
    stack: list[cst.CSTNode] = list(body) if isinstance(body, (list, tuple)) else [body]

    def bind(target: cst.CSTNode, statement: cst.CSTNode, value: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            found.setdefault(target.value, []).append((statement, value))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                bind(element.value, statement, value)

    while stack:
        node = stack.pop()
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        if isinstance(node, cst.Assign):
            for target in node.targets:
                bind(target.target, node, node.value)
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            if node.value is not None:
                bind(node.target, node, node.value)
        elif isinstance(node, (cst.Global, cst.Nonlocal)):
            declared.update(item.name.value for item in node.names)
        stack.extend(children(node))
    for name in declared - {declared_name}:
        found[name] = []
    return found


def choices(value: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The conditions by which an expression chooses between values."""
    if isinstance(value, cst.BaseExpression):
        for node in descendants(value):
            if isinstance(node, cst.IfExp):
                yield node.test


def assigned(event: Event) -> cst.BaseExpression | None:
    """What an attribute or an item is set to, as it is written."""
    for outer in event.module.source.parents(event.node):
        if isinstance(outer, (cst.Assign, cst.AugAssign)):
            return outer.value
        if isinstance(outer, cst.AnnAssign):
            return outer.value
        if isinstance(outer, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            return None
    return None


def controls_of(event: Event) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The conditions on which an event happens, those of the calls around it included."""
    for test in controls(event.module, event.node):
        yield event.module, test
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is not None:
            for test in controls(frame.module, frame.node):
                yield frame.module, test


def controls(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions on which a place in the text is reached, within its function."""
    inner = node
    for outer in ancestors(module, node):
        if isinstance(outer, (cst.If, cst.While, cst.IfExp)) and inner is not outer.test:
            if inner is not outer:
                yield outer.test
        if isinstance(outer, (cst.IndentedBlock, cst.Module)):
            for statement in outer.body:
                if statement is inner:
                    break
                yield from leaving_tests(statement)
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return
        inner = outer


def leaving_tests(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions on which a statement leaves the block that it stands in."""
    stack: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...], bool]] = [(statement, (), False)]
    while stack:
        node, tests, in_loop = stack.pop()
        if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        if isinstance(node, cst.Return) or (
            isinstance(node, (cst.Break, cst.Continue)) and not in_loop
        ):
            yield from tests
            continue
        if isinstance(node, cst.If):
            tests = (*tests, node.test)
        if isinstance(node, (cst.For, cst.While)):
            in_loop = True
        if isinstance(node, (cst.BaseExpression,)):
            continue
        stack.extend((child, tests, in_loop) for child in children(node))


def tests_in_call(event: Event, call: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions on which a return inside a call happens."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Call) and frame.node is call:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            yield frame.node.test
        elif inside and isinstance(frame, Loop) and isinstance(frame.node, cst.While):
            yield frame.node.test
