"""Where a script looks into a model that is wrapped by then."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Class, External, Instance, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors, function_of, start, statement_of
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.models.glances import looked_into
from transpile.plan.models.late_parts import GROWING
from transpile.plan.models.owners import put_into_wholes
from transpile.plan.models.parts import is_plain
from transpile.plan.models.stored import stored
from transpile.plan.models.wraps import Wrap
from transpile.plan.query import query
from transpile.records import dataclass


@dataclass(frozen=True)
class Wrapper:
    """What a framework's wrapper of models answers as the model itself would.

    Args:
        same: the attributes and methods.
        harmless: dotted prefixes of functions that only need something callable, or parameters.
        replaces: the framework's older wrapper, whose place the wrap may take; empty for none.
        same_as_replaced: what a wrap in its place answers as that one would.
        asked_for: what a script may ask either of, as in ``hasattr(model, "module")``.
        writers: functions that write all that they are given, what containers hold included.
    """

    same: frozenset[str]
    harmless: tuple[str, ...]
    replaces: str = ""
    same_as_replaced: frozenset[str] = frozenset()
    asked_for: frozenset[str] = frozenset()
    writers: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Reach:
    """An expression that is the wrap, where the model itself is wanted.

    Args:
        module: where it is.
        node: the expression.
        name: what of the model is wanted; empty where all of it is.
        replaced: that is assigned, not read.
        because: why the model cannot be reached there; empty where it can.
    """

    module: Module
    node: cst.BaseExpression
    name: str = ""
    replaced: bool = False
    because: str = ""


def reaches(plan: Plan, wrap: Wrap, wrapper: Wrapper, in_place: bool = False) -> Iterator[Reach]:
    """The places that look into the model of a wrap.

    Args:
        plan: the plan.
        wrap: where the model is wrapped.
        wrapper: what it is wrapped into.
        in_place: the wrap takes the place of the script's own wrapper, so that the script
            reaches the model as it would through that.
    """
    for value in wrapped_values(plan, wrap):
        yield from accesses(plan, wrap, value, wrapper, in_place)
        yield from arguments(plan, wrap, value, wrapper, in_place)
        yield from contents(plan, wrap, value, wrapper)
        yield from parts(plan, wrap, value)
        yield from glances(plan, wrap, value, wrapper.replaces)


def wrapped_values(plan: Plan, wrap: Wrap) -> list[Value]:
    """The model of a wrap, and what the same statements make and wrap in other calls."""
    model = wrap.models[0].value
    found = [model]
    if wrap.function is None or not isinstance(model, (Instance, Opaque)):
        return found
    last = start(wrap.module, wrap.node)
    for node in descendants(wrap.function.body):
        if not isinstance(node, (cst.Name, cst.Attribute, cst.Assign)):
            continue
        if start(wrap.module, node) > last or not is_about(wrap, node):
            continue
        held = node.value if isinstance(node, cst.Assign) else node
        for value in map(origin, plan.facts.values_of(held)):
            if isinstance(value, type(model)) and value.node is model.node and value not in found:
                found.append(value)
    return found


def is_about(wrap: Wrap, node: cst.Name | cst.Attribute | cst.Assign) -> bool:
    """Whether a node reads or assigns the variable of a wrap."""
    code = wrap.module.source.code
    if isinstance(node, cst.Assign):
        return any(code(target.target) == wrap.text for target in node.targets)
    return code(node) == wrap.text


def accesses(
    plan: Plan, wrap: Wrap, value: Value, wrapper: Wrapper, in_place: bool
) -> Iterator[Reach]:
    """Attributes and items of the wrapped model."""
    inner = is_inside(plan, value, wrapper.replaces)
    same = wrapper.same - {"module"} if inner else wrapper.same
    if in_place:
        same = wrapper.same_as_replaced
    same = same - own_names(value)
    for module, node in accessed(plan).get(id(value), ()):
        base = node.value
        if inside_class_of(plan, module, node, value):
            continue
        if isinstance(base, cst.Call) and makes(plan, base, wrapper.replaces):
            continue
        name = node.attr.value if isinstance(node, cst.Attribute) else "[]"
        if name in same or is_before(plan, wrap, module, node):
            continue
        replaced = is_replaced(plan, module, node) or grows(value, name)
        if inner and not replaced and is_behind_module(plan, base, value):
            continue
        yield Reach(module, base, name, replaced)


@query
def accessed(plan: Plan) -> dict[int, list[tuple[Module, cst.Attribute | cst.Subscript]]]:
    """The attribute and item accesses of each object, by its identity."""
    found: dict[int, list[tuple[Module, cst.Attribute | cst.Subscript]]] = {}
    for module in plan.facts.modules.values():
        for node in module.source.nodes:
            if type(node) is not cst.Attribute and type(node) is not cst.Subscript:
                continue
            behind = {id(origin(value)) for value in plan.facts.values_of(node.value)}
            for identity in behind:
                found.setdefault(identity, []).append((module, node))
    return found


#: What the wrapper does by doing it to the model, whatever the model's own class makes of it.
PASSED_ON = frozenset({"__call__", "forward", "train", "eval"})


def own_names(model: Value) -> set[str]:
    """The names that a class of the project has itself, which the wrapper does not ask it for."""
    if not isinstance(model, Instance):
        return set()
    found = set(model.attributes)
    for each in model.cls.ancestry():
        if isinstance(each, Class):
            found |= set(each.scope.names)
    return found - PASSED_ON


def makes(plan: Plan, node: cst.Call, older: str) -> bool:
    """Whether a call makes the script's own wrapper, which is the wanted object."""
    return bool(older) and External(older) in plan.facts.values_of(node.func)


def is_behind_module(plan: Plan, node: cst.CSTNode, value: Value) -> bool:
    """Whether an expression is ``x.module`` with the model's wrapper for ``x``."""
    return (
        isinstance(node, cst.Attribute)
        and node.attr.value == "module"
        and holds(plan, node.value, value)
    )


def is_inside(plan: Plan, value: Value, older: str) -> bool:
    """Whether the script itself puts a model into the framework's older wrapper."""
    return bool(older) and any(
        origin(found) is value
        for event in plan.facts.calls_to(older)
        for argument in event.arguments.items[:1]
        for found in argument.values
    )


def arguments(
    plan: Plan, wrap: Wrap, value: Value, wrapper: Wrapper, in_place: bool
) -> Iterator[Reach]:
    """Calls out of the project that are given the wrapped model itself."""
    inner = is_inside(plan, value, wrapper.replaces)
    for event, node in given_away(plan, wrapper.harmless).get(id(value), ()):
        if event.order < wrap.order and not event.detached:
            continue
        assert isinstance(event.node, cst.Call)
        if in_place and asks_for(event.callee, event.node, wrapper.asked_for):
            continue
        if inside_class_of(plan, event.module, node, value):
            continue
        if inner and is_behind_module(plan, node, value):
            continue
        yield Reach(event.module, node)


def contents(plan: Plan, wrap: Wrap, value: Value, wrapper: Wrapper) -> Iterator[Reach]:
    """Places where the wrapped model is put into containers that are written whole."""
    inner = is_inside(plan, value, wrapper.replaces)
    for found in stored(plan, value, wrapper.writers) if wrapper.writers else ():
        if inner and is_behind_module(plan, found.node, value):
            continue
        if found.because or not is_before(plan, wrap, found.module, found.node):
            yield Reach(found.module, found.node, because=found.because)


def parts(plan: Plan, wrap: Wrap, value: Value) -> Iterator[Reach]:
    """Places where the wrapped model becomes a part of another, whose weights are saved whole."""
    for module, target in put_into_wholes(plan, value, wrap.order):
        for around in module.source.parents(target):
            if isinstance(around, cst.Assign) and holds(plan, around.value, value):
                yield Reach(module, around.value)


def glances(plan: Plan, wrap: Wrap, value: Value, older: str) -> Iterator[Reach]:
    """Places where the language itself looks into the wrapped model."""
    inner = is_inside(plan, value, older)
    for module, node in looked_into(plan).get(id(value), ()):
        if inside_class_of(plan, module, node, value) or is_before(plan, wrap, module, node):
            continue
        if not (inner and is_behind_module(plan, node, value)):
            yield Reach(module, node)


@query
def given_away(
    plan: Plan, harmless: tuple[str, ...]
) -> dict[int, list[tuple[Event, cst.BaseExpression]]]:
    """The arguments of calls out of the project that may be each object, by its identity."""
    found: dict[int, list[tuple[Event, cst.BaseExpression]]] = {}
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call) or not looks_at_arguments(event.callee, harmless):
            continue
        for arg in event.node.args:
            node = arg.value
            if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
                continue
            for identity in {id(origin(value)) for value in plan.facts.values_of(node)}:
                found.setdefault(identity, []).append((event, node))
    return found


def asks_for(callees: tuple[Value, ...], node: cst.Call, asked_for: frozenset[str]) -> bool:
    """Whether a call asks for an attribute that both wrappers have: ``hasattr(m, "module")``."""
    if not all(
        isinstance(callee, External) and callee.name in ("builtins.hasattr", "builtins.getattr")
        for callee in callees
    ):
        return False
    name = node.args[1].value if len(node.args) > 1 else None
    return isinstance(name, cst.SimpleString) and name.evaluated_value in asked_for


def looks_at_arguments(callees: tuple[Value, ...], harmless: tuple[str, ...]) -> bool:
    """Whether a call out of the project may look into the model that it is given."""
    for callee in callees:
        if isinstance(callee, External):
            if callee.name.startswith(harmless) or callee.name == "builtins.super":
                return False
        elif not isinstance(callee, Opaque):
            return False
    return bool(callees)


def holds(plan: Plan, node: cst.CSTNode, value: Value) -> bool:
    """Whether an expression may be the model."""
    return any(origin(found) is value for found in plan.facts.values_of(node))


def inside_class_of(plan: Plan, module: Module, node: cst.CSTNode, value: Value) -> bool:
    """Whether a place is in the code of the model's own class, where it is never wrapped."""
    if not isinstance(value, Instance):
        return False
    classes = {id(c.node) for c in value.cls.ancestry() if isinstance(c, Class)}
    return any(id(ancestor) in classes for ancestor in ancestors(module, node))


def is_before(plan: Plan, wrap: Wrap, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place runs only before the wrap."""
    if module is wrap.module and function_of(module, node) is wrap.function:
        if wrap.before is None:
            return start(module, node) <= start(module, wrap.after)
        return start(module, node) < start(module, wrap.before)
    function = function_of(module, node)
    last = last_orders(plan).get(id(function))
    if last is not None and last < wrap.order:
        return True
    return any(last < wrap.order for last in orders_from(plan, module, node))


def orders_from(plan: Plan, module: Module, node: cst.CSTNode) -> Iterator[int]:
    """The last events of the statement that a node is part of, and of those behind it in its block.

    In a statement of its own nothing may happen that the run has noted.
    """
    statement = statement_of(module, node)
    block = module.source.parent(statement) if statement is not None else None
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return
    orders = last_orders(plan)
    behind = False
    for other in block.body:
        behind = behind or other is statement
        if behind and id(other) in orders:
            yield orders[id(other)]


@query
def last_orders(plan: Plan) -> dict[int, int]:
    """The last event in each function, and in each statement, by their identities."""
    found: dict[int, int] = {}
    for event in plan.facts.events:
        function = event.function()
        if event.detached:
            continue
        if function is not None:
            found[id(function.node)] = event.order
        found[id(statement_of(event.module, event.node))] = event.order
    return found


def grows(model: Value, name: str) -> bool:
    """Whether a method puts another layer into a model: one that its own class does not have."""
    if name not in GROWING:
        return False
    classes = model.cls.ancestry() if isinstance(model, Instance) else ()
    return not any(isinstance(each, Class) and name in each.scope.names for each in classes)


def is_replaced(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether an access is the target of an assignment of more than a plain number."""
    target = module.source.parent(node)
    if not isinstance(target, cst.AssignTarget):
        return False
    assignment = module.source.parent(target)
    return not (
        isinstance(assignment, cst.Assign) and is_plain(plan.facts.values_of(assignment.value))
    )
