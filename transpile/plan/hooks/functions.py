"""The functions of the script that are hooks, and what they do with gradients."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import BoundMethod, Function, Partial, Value
from transpile.facts.walk import descendants
from transpile.plan.hooks.changes import Kind, worst_change


def hooks_of(event: Event, before: int) -> Iterator[tuple[Function, set[str]]]:
    """The hooks of the project that a call is given, with what they call the gradients."""
    given = event.arguments.get("hook", 0)
    for value in given.values if given is not None else ():
        function = code_of(value)
        if function is not None:
            names = parameters_of(function.node)[before + isinstance(value, BoundMethod) :]
            yield function, set(names)


def is_changed_by_hook(event: Event, before: int) -> bool:
    """Whether a hook may make something else of its gradients than a multiple."""
    return any(
        worst_change(function.node, names) > Kind.MULTIPLE
        for function, names in hooks_of(event, before)
    )


def is_kept_by_hook(event: Event, before: int) -> bool:
    """Whether a hook prints its gradients, or puts them or what it makes of them into a list."""
    return any(
        isinstance(part, cst.Name) and part.value in names
        for function, names in hooks_of(event, before)
        if isinstance(function.node, cst.FunctionDef)
        for statement in descendants(function.node)
        for kept in kept_in(statement)
        for part in descendants(kept)
    )


def kept_in(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What a statement hands to a call for its effect, such as a print."""
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        yield from statement.value.args


def code_of(value: Value) -> Function | None:
    """The function of the project that a value is."""
    if isinstance(value, BoundMethod):
        return value.function
    if isinstance(value, Partial) and value.callee:
        return code_of(value.callee[0])
    return value if isinstance(value, Function) else None


def parameters_of(node: cst.FunctionDef | cst.Lambda) -> list[str]:
    """The positional parameters of a function, in order."""
    given = node.params
    names = [each.name.value for each in (*given.posonly_params, *given.params)]
    if isinstance(given.star_arg, cst.Param):
        names.append(given.star_arg.name.value)
    return names
