"""Where a wrapped model is put into something that is written whole, as a dict for a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Instance, Mapping, Sequence, Value, Values
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.records import dataclass

_READ = (cst.Name, cst.Attribute, cst.Subscript)


@dataclass(frozen=True, eq=False)
class Stored:
    """A model within what a call writes.

    Args:
        module: where it is put in.
        node: the expression that is put in; the call itself where none can be pointed to.
        because: why it cannot be put in without its wrap; empty where it can.
    """

    module: Module
    node: cst.BaseExpression
    because: str = ""


def stored(plan: Plan, model: Value, writers: tuple[str, ...]) -> Iterator[Stored]:
    """The places where a model is put into containers that are written whole.

    Args:
        plan: the plan.
        model: the model.
        writers: dotted names of the functions that write all that they are given.
    """
    for event in plan.facts.calls_to(*writers):
        held = [
            value
            for argument in event.arguments.items
            for value in within(argument.values)
            if model in map(origin, inside(value))
        ]
        for holder in held:
            if isinstance(holder, Instance):
                yield behind(event, f"an object of '{holder.cls.name}' that holds it")
                continue
            places = list(put_in(plan, holder, model))
            if not places:
                yield behind(event, "a container in which it has no place of its own")
            for module, node in places:
                if read_again(plan, holder, model):
                    yield behind(event, "a container that the script calls it from")
                else:
                    yield Stored(module, node)


def behind(event: Event, holder: str) -> Stored:
    """A model that cannot be reached in what is written."""
    assert isinstance(event.node, cst.Call)
    return Stored(event.module, event.node, f"the model is written as a part of {holder}")


def within(values: Values) -> Iterator[Value]:
    """The containers and objects among values, and those that they hold, each once."""
    seen: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen or not isinstance(value, (Mapping, Sequence, Instance)):
            continue
        seen.add(id(value))
        yield value
        if not isinstance(value, Instance):
            stack.extend(inside(value))


def inside(value: Value) -> Values:
    """What a container or an object holds itself."""
    if isinstance(value, (Mapping, Sequence)):
        return value.every()
    if isinstance(value, Instance):
        return tuple(held for values in value.attributes.values() for held in values)
    return ()


def put_in(plan: Plan, holder: Value, model: Value) -> Iterator[tuple[Module, cst.BaseExpression]]:
    """The expressions that put a model into a container."""
    assert isinstance(holder, (Mapping, Sequence))
    seen: set[int] = set()
    for module in plan.facts.modules.values():
        handed = (
            (parent, node) for parent, given in handed_in(module) for node in alternatives(given)
        )
        for parent, node in handed:
            if id(node) in seen or not isinstance(node, _READ):
                continue
            if model not in map(origin, plan.facts.values_of(node)):
                continue
            if parent is holder.node or holder in plan.facts.values_of(parent):
                seen.add(id(node))
                yield module, node


def alternatives(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The expressions one of which gives the value, as the branches of a conditional one."""
    if isinstance(node, cst.IfExp):
        yield from alternatives(node.body)
        yield from alternatives(node.orelse)
    else:
        yield node


def handed_in(module: Module) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each container of a module, as an expression, with each expression that is put into it."""
    for node in module.source.nodes:
        if isinstance(node, (cst.Dict, cst.List, cst.Tuple, cst.Set)):
            for element in node.elements:
                yield node, element.value
        elif isinstance(node, (cst.ListComp, cst.SetComp)):
            yield node, node.elt
        elif isinstance(node, cst.DictComp):
            yield node, node.value
        elif isinstance(node, cst.Call):
            for arg in node.args:
                yield node, arg.value
                if isinstance(node.func, cst.Attribute):
                    yield node.func.value, arg.value
        elif isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Subscript):
                    yield target.target.value, node.value


def read_again(plan: Plan, holder: Value, model: Value) -> bool:
    """Whether a script takes a model out of a container to call it."""
    return any(
        isinstance(part, cst.Subscript) and holder in plan.facts.values_of(part.value)
        for event in plan.facts.calls
        if isinstance(event.node, cst.Call) and model in map(origin, event.callee)
        for part in (event.node.func,)
    )
