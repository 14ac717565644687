"""Which variables hold an object on its way to where it is used.

A model that is called in ``train(model, ...)`` is the parameter there, a local variable of
``main`` one call further out, perhaps an attribute of a trainer: each is a holder.
"""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event, Stack
from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Instance, Opaque, Partial, Value, Values
from transpile.facts.walk import children
from transpile.plan.flow.places import calls_of, function_of
from transpile.plan.graph import SAME_OBJECT
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Holder:
    """A variable, as seen from one scope.

    Args:
        module: where the scope is.
        function: the function whose scope it is; None for the module's own.
        depth: how many project calls lead into the scope.
        text: the expression that names it.
        node: the expression, or the call through which the use is reached from this scope.
        is_parameter: it is a parameter that the scope does not bind anew.
        stack: the frames around `node`.
        stored: `node` is where an attribute is set, in a scope that need not use it.
        read: the name itself, where `node` is a call that leads to where it is read.
    """

    module: Module
    function: cst.FunctionDef | None
    depth: int
    text: str
    node: cst.CSTNode
    is_parameter: bool
    stack: Stack
    stored: bool = False
    read: cst.Name | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        """What two uses of one variable share."""
        return (id(self.module), id(self.function), self.text)


#: Methods of libraries' objects by which these are called.
CALLING = frozenset({"forward", "__call__"})
#: What may bind a name.
BINDING = frozenset(
    {
        cst.FunctionDef, cst.ClassDef, cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.AugAssign,
        cst.For, cst.AsName, cst.Global, cst.Nonlocal,
    }
)  # fmt: skip
#: What binds nothing around it.
CLOSED = frozenset(
    {
        cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.Name,
        cst.SimpleString, cst.Integer, cst.Float,
    }
)  # fmt: skip


def bindings(function: cst.CSTNode) -> dict[str, list[cst.CSTNode | None]]:
    """The names that a function (or module) binds itself, to the expressions assigned.

    None stands for a binding that is no plain assignment.
    """
    found: dict[str, list[cst.CSTNode | None]] = {}
    declared: set[str] = set()
    body = function.body  # type: ignore[attr-defined]
    stack: list[cst.CSTNode] = list(body) if isinstance(body, (list, tuple)) else [body]

    def bind(target: cst.CSTNode, value: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            found.setdefault(target.value, []).append(value)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element, own in zip(
                target.elements, values_of_elements(target, value), strict=True
            ):
                bind(element.value, own)

    while stack:
        node = stack.pop()
        if type(node) not in BINDING:
            if type(node) not in CLOSED:
                stack.extend(children(node))
            continue
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            found.setdefault(node.name.value, []).append(None)
            continue
        if isinstance(node, cst.Assign):
            for target in node.targets:
                bind(target.target, node.value)
        elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)) and node.value is not None:
            bind(node.target, node.value)
        elif isinstance(node, cst.AugAssign):
            bind(node.target, None)
        elif isinstance(node, cst.For):
            bind(node.target, None)
        elif isinstance(node, cst.AsName):
            bind(node.name, None)
        elif isinstance(node, (cst.Global, cst.Nonlocal)):
            declared.update(item.name.value for item in node.names)
        stack.extend(children(node))
    for name in declared:
        found.pop(name, None)
    return found


def values_of_elements(
    target: cst.Tuple | cst.List, value: cst.CSTNode | None
) -> list[cst.CSTNode | None]:
    """What each element of a target is given, where as many values are written beside it."""
    plain = isinstance(value, (cst.Tuple, cst.List)) and not any(
        isinstance(each, cst.StarredElement) for each in (*target.elements, *value.elements)
    )
    if plain and isinstance(value, (cst.Tuple, cst.List)):
        if len(value.elements) == len(target.elements):
            return [element.value for element in value.elements]
    return [None] * len(target.elements)


def assigned_to(module: Module, target: cst.CSTNode) -> cst.CSTNode | None:
    """The expression that an assignment gives to a target, or to an element of one."""
    parent = module.source.parent(target)
    if isinstance(parent, cst.AssignTarget):
        statement = module.source.parent(parent)
        return statement.value if isinstance(statement, cst.Assign) else None
    if not isinstance(parent, cst.Element):
        return None
    several = module.source.parent(parent)
    if not isinstance(several, (cst.Tuple, cst.List)):
        return None
    values = values_of_elements(several, assigned_to(module, several))
    return next(v for e, v in zip(several.elements, values, strict=True) if e is parent)


def parameters(function: cst.FunctionDef) -> list[str]:
    """The names of a function's parameters, positional ones first."""
    return [
        parameter.name.value
        for parameter in (
            *function.params.posonly_params,
            *function.params.params,
            *function.params.kwonly_params,
        )
    ]


def trace(facts: Facts, module: Module, node: cst.CSTNode, stack: Stack) -> list[Holder]:
    """The holders of what `node` evaluates to, from the use outwards.

    Args:
        facts: the run.
        module: the module of `node`.
        node: an expression.
        stack: the frames around it in one context.
    """
    found: list[Holder] = []
    seen: set[tuple[int, int]] = set()
    pending = [(module, node, stack)]
    while pending:
        module, node, stack = pending.pop(0)
        node = behind_moves(node)
        depth = len(calls_of(stack))
        if (id(node), depth) in seen or len(found) > 60:
            continue
        seen.add((id(node), depth))
        behind: list[Holder] = []
        places = step(facts, module, node, stack, behind)
        receiver = method_of(facts, node)
        if receiver is None:
            found.extend(behind)
        elif receiver is not node:
            # What has the method is held by what it is taken from here.
            places = [(module, receiver, stack)]
        pending.extend(places)
    return found


def method_of(facts: Facts, node: cst.CSTNode) -> cst.CSTNode | None:
    """What has the method that an expression is taken from it by; itself where it only names one.

    None where the expression is no method.
    """
    values = facts.values_of(node)
    receivers = [having(value) for value in values]
    if not receivers or not all(receivers):
        return None
    if isinstance(node, cst.Call) and node.args:
        return node.args[0].value
    if isinstance(node, cst.Attribute):
        owners = set(map(id, facts.values_of(node.value)))
        if any(id(one) in owners for group in receivers for one in group):
            return node.value
    return node


def having(value: Value) -> Values:
    """What has the method that a value is, by which a model may be called; empty for others.

    Of a partial call it is what is called.
    """
    if isinstance(value, Partial):
        return value.callee
    if isinstance(value, BoundMethod):
        return (value.receiver,)
    if isinstance(value, Opaque) and value.kind == "attribute" and value.name in CALLING:
        return value.operands[0]
    return ()


def behind_moves(node: cst.CSTNode) -> cst.CSTNode:
    """The expression behind ``.to(device)`` and the like."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in SAME_OBJECT
    ):
        node = node.func.value
    return node


Place = tuple[Module, cst.CSTNode, Stack]


def step(
    facts: Facts, module: Module, node: cst.CSTNode, stack: Stack, found: list[Holder]
) -> list[Place]:
    """Add the holder that `node` is, and say where the value came from."""
    if isinstance(node, cst.Name):
        return name_step(module, node, stack, found)
    if isinstance(node, cst.Attribute):
        return attribute_step(facts, module, node, stack, found)
    if isinstance(node, cst.Subscript):
        calls = calls_of(stack)
        found.append(
            Holder(
                module,
                function_of(module, node),
                len(calls),
                module.source.code(node),
                node,
                False,
                stack,
            )
        )
    return []


def name_step(module: Module, node: cst.Name, stack: Stack, found: list[Holder]) -> list[Place]:
    """A name: local, parameter, of an enclosing function, or global."""
    name = node.value
    calls = calls_of(stack)
    scope = function_of(module, node)
    depth = len(calls)
    site: cst.CSTNode = node
    site_stack = stack
    while scope is not None:
        bound = bindings(scope)
        is_parameter = name in parameters(scope)
        if name in bound or is_parameter:
            found.append(
                Holder(
                    module,
                    scope,
                    depth,
                    name,
                    site,
                    is_parameter and name not in bound,
                    site_stack,
                    read=node,
                )
            )
            if is_parameter and name not in bound:
                return argument_place(scope, name, calls[:depth], stack)
            assigned = bound.get(name, [])
            known = [value for value in assigned if value is not None]
            if len(assigned) == len(known):
                return [(module, value, site_stack) for value in known]
            return []
        # A name of an enclosing function: where that function was entered.
        outer = function_of(module, scope)
        while depth > 0:
            depth -= 1
            inner = calls[depth]
            if (depth and calls[depth - 1].function.node is outer) or depth == 0:
                site = inner.node if inner.node is not None else site
                site_stack = stack[: stack.index(inner)]
                break
        scope = outer
    if depth > 0 and calls:
        outermost = calls[0]
        site = outermost.node if outermost.node is not None else site
        site_stack = stack[: stack.index(outermost)]
        depth = 0
    found.append(Holder(module, None, depth, name, site, False, site_stack, read=node))
    values = bindings(module.source.tree).get(name, [])
    plain = [value for value in values if value is not None]
    if len(plain) == len(values):
        return [(module, value, site_stack) for value in plain]
    return []


def argument_place(
    scope: cst.FunctionDef, name: str, calls: tuple[Call, ...], stack: Stack
) -> list[Place]:
    """The argument that a parameter got from the call that entered the function."""
    if not calls:
        return []
    frame = calls[-1]
    call = frame.node
    if not isinstance(call, cst.Call):
        return []
    before = stack[: stack.index(frame)]
    position = parameters(scope).index(name)
    if frame.receiver:
        position -= 1
    caller = frame.module
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return [(caller, argument.value, before)]
    plain = [a for a in call.args if a.keyword is None]
    if any(a.star for a in plain[: position + 1]):
        return []
    if 0 <= position < len(plain):
        return [(caller, plain[position].value, before)]
    return []


def attribute_step(
    facts: Facts, module: Module, node: cst.Attribute, stack: Stack, found: list[Holder]
) -> list[Place]:
    """An attribute: where it is used, and where it was set."""
    calls = calls_of(stack)
    scope = function_of(module, node)
    text = module.source.code(node)
    found.append(Holder(module, scope, len(calls), text, node, False, stack))
    places: list[Place] = []
    outer = through_receiver(module, node, stack, calls)
    if outer is not None:
        found.append(outer)
    owners = [v for v in facts.values_of(node.value) if isinstance(v, Instance)]
    for event in facts.stores:
        if event.name == node.attr.value:
            if any(owner in event.callee for owner in owners):
                target = event.node
                value = assigned_to(event.module, target)
                if value is not None:
                    found.append(
                        Holder(
                            event.module,
                            function_of(event.module, target),
                            len(calls_of(event.stack)),
                            event.module.source.code(target),
                            target,
                            False,
                            event.stack,
                            stored=True,
                        )
                    )
                    places.append((event.module, value, event.stack))
    return places


def through_receiver(
    module: Module, node: cst.Attribute, stack: Stack, calls: tuple[Call, ...]
) -> Holder | None:
    """``self.x`` as the caller of the method sees it: ``trainer.x``."""
    del module
    if not calls or not isinstance(node.value, cst.Name):
        return None
    frame = calls[-1]
    call = frame.node
    names = (
        parameters(frame.function.node) if isinstance(frame.function.node, cst.FunctionDef) else []
    )
    if not names or names[0] != node.value.value or not isinstance(call, cst.Call):
        return None
    if not isinstance(call.func, cst.Attribute):
        return None
    caller = frame.module
    text = f"{caller.source.code(call.func.value)}.{node.attr.value}"
    before = stack[: stack.index(frame)]
    return Holder(
        caller, function_of(caller, call), len(calls_of(before)), text, call, False, before
    )


def event_of_node(facts: Facts, node: cst.CSTNode) -> list[Event]:
    """The events that happen exactly at a node."""
    return [event for event in facts.events if event.node is node]
