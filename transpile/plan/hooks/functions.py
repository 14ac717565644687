"""The functions of the script that are hooks, and what they do with gradients."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import BoundMethod, Class, Function, Instance, Partial, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.hooks.changes import ATTRIBUTES_OF_SHAPE, SHAPES, Kind, worst_change
from transpile.text.source import Source


def hooks_of(event: Event, before: int, count: int) -> Iterator[tuple[Function, set[str]]]:
    """The hooks of the project that a call is given, with what they call the gradients.

    Args:
        event: the call.
        before: how many arguments of hooks come before the gradients.
        count: how many arguments hooks are given; what else they have a default for is theirs.
    """
    given = event.arguments.get("hook", 0)
    for value in given.values if given is not None else ():
        function = code_of(value)
        if function is not None:
            first = int(isinstance(value, (BoundMethod, Instance)))
            named: set[str] = set()
            while isinstance(value, Partial):
                first += len(value.arguments.positional())
                named |= {one.keyword for one in value.arguments.items if one.keyword}
                value = value.callee[0]
                first += isinstance(value, (BoundMethod, Instance))
            names = parameters_of(function.node)
            yield function, set(names[first + before : first + count]) - named


def handed_to_hooks(event: Event) -> Iterator[Value]:
    """What the hooks that a call is given have at hand by defaults, or by partial calls."""
    given = event.arguments.get("hook", 0)
    for value in given.values if given is not None else ():
        function = code_of(value)
        for defaults in function.defaults.values() if function is not None else ():
            yield from defaults
        while isinstance(value, Partial):
            for item in value.arguments.items:
                yield from item.values
            value = value.callee[0]


def is_changed_by_hook(event: Event, before: int, count: int) -> bool:
    """Whether a hook may make something else of its gradients than a multiple."""
    return any(
        worst_change(function.node, names) > Kind.MULTIPLE
        for function, names in hooks_of(event, before, count)
    )


def is_kept_by_hook(event: Event, before: int, count: int) -> bool:
    """Whether a hook prints its gradients, or keeps them or what it makes of them."""
    return any(
        isinstance(part, cst.Name) and part.value in names
        for function, given in hooks_of(event, before, count)
        if isinstance(function.node, cst.FunctionDef)
        for names in (made_of(function.node, given),)
        for statement in descendants(function.node)
        for kept in kept_in(statement, function, names)
        for part in said(kept)
    )


def made_of(function: cst.FunctionDef, given: set[str]) -> set[str]:
    """The names of a function that stand for gradients, or for what is made of them."""
    names, before = set(given), -1
    while len(names) > before:
        before = len(names)
        for node in descendants(function):
            if not isinstance(node, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or not node.value:
                continue
            if any(isinstance(each, cst.Name) and each.value in names for each in said(node.value)):
                targets = node.targets if isinstance(node, cst.Assign) else (node,)
                names.update(name for one in targets for name in bound(one.target))
    return names


def bound(target: cst.BaseExpression) -> Iterator[str]:
    """The names that an assignment binds; what is stored into has a name already."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from bound(element.value)


def kept_in(statement: cst.CSTNode, function: Function, names: set[str]) -> Iterator[cst.CSTNode]:
    """What a statement hands to a call for its effect, such as a print, or puts elsewhere.

    Args:
        statement: the statement.
        function: the hook that it stands in.
        names: its names for gradients and what it makes of them: storing into them keeps nothing.
    """
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        yield from statement.value.args
    if not isinstance(statement, (cst.Assign, cst.AnnAssign, cst.AugAssign)) or not statement.value:
        return
    targets = statement.targets if isinstance(statement, cst.Assign) else (statement,)
    if any(is_elsewhere(one.target, function, names) for one in targets):
        yield statement.value


def is_elsewhere(target: cst.BaseExpression, function: Function, names: set[str]) -> bool:
    """Whether what a hook assigns is read elsewhere, from another place than its gradients."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return any(is_elsewhere(one.value, function, names) for one in target.elements)
    if isinstance(target, cst.Name):
        declared = (
            name.name.value
            for node in descendants(function.node)
            if isinstance(node, (cst.Global, cst.Nonlocal))
            for name in node.names
        )
        return target.value in declared and is_read(function, target.value)
    base = target
    while isinstance(base, cst.Subscript):
        base = base.value
    word = base.attr.value if isinstance(base, cst.Attribute) else ""
    while isinstance(base, (cst.Attribute, cst.Subscript)):
        base = base.value
    if not isinstance(base, cst.Name) or base.value in names:
        return not isinstance(base, cst.Name)
    return is_read(function, word or base.value)


def is_read(function: Function, word: str) -> bool:
    """Whether a name or an attribute is used outside of a hook, and not assigned to alone."""
    source = function.module.source
    return any(
        not is_set_or_declared(source, node)
        and all(parent is not function.node for parent in source.parents(node))
        for node in descendants(source.tree)
        if isinstance(node, cst.Name) and node.value == word
    )


def is_set_or_declared(source: Source, name: cst.Name) -> bool:
    """Whether a name, or the attribute that it names, is assigned to, or is a parameter's."""
    parent = source.parent(name)
    if isinstance(parent, cst.Attribute) and parent.attr is name:
        parent = source.parent(parent)
    return isinstance(parent, (cst.AssignTarget, cst.AnnAssign, cst.Param, cst.NameItem))


def said(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The parts of an expression, without what asks for the shape or kind of a tensor alone."""
    if isinstance(node, cst.Attribute) and node.attr.value in ATTRIBUTES_OF_SHAPE:
        return
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value in SHAPES:
            return
    yield node
    for child in node.children:
        yield from said(child)


def code_of(value: Value) -> Function | None:
    """The function of the project that a value is, or that an object of it is called by."""
    if isinstance(value, BoundMethod):
        return value.function
    if isinstance(value, Partial) and value.callee:
        return code_of(value.callee[0])
    if isinstance(value, Instance):
        return next(filter(None, map(code_of, calling(value.cls))), None)
    return value if isinstance(value, Function) else None


def calling(cls: Class) -> Values:
    """What a class says that calls of its objects do."""
    for ancestor in cls.ancestry():
        if isinstance(ancestor, Class) and ancestor.scope.names.get("__call__"):
            return ancestor.scope.names["__call__"]
    return ()


def parameters_of(node: cst.FunctionDef | cst.Lambda) -> list[str]:
    """The positional parameters of a function, in order."""
    given = node.params
    names = [each.name.value for each in (*given.posonly_params, *given.params)]
    if isinstance(given.star_arg, cst.Param):
        names.append(given.star_arg.name.value)
    return names
