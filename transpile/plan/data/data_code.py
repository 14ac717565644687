"""The code of the project that runs when a loader draws samples, and what that code reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    Class,
    Function,
    Instance,
    Opaque,
    Partial,
    Value,
    Values,
)
from transpile.facts.walk import children, descendants
from transpile.plan.data.collation import collated_by
from transpile.plan.graph import called_names, parents
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.records import dataclass

#: The methods through which samples are drawn.
DRAWING = ("__getitem__", "__getitems__", "__iter__", "__next__", "__call__")


@dataclass(frozen=True, eq=False)
class Reads:
    """What some code reads.

    Args:
        values: what its expressions may be, by identity.
        attributes: the names of attributes that it reads, by the identity of what they belong to.
        owners: the objects of the project among these, by identity.
        nodes: its nodes, each with the function that it belongs to.
    """

    values: dict[int, Value]
    attributes: set[tuple[int, str]]
    owners: dict[int, Instance]
    nodes: tuple[tuple[Function, cst.CSTNode], ...]


def held_by(values: Values) -> dict[int, Value]:
    """Everything that values are made of, or hold in their attributes, by identity."""
    found: dict[int, Value] = {}
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in found:
            continue
        found[id(value)] = value
        if isinstance(value, Instance):
            groups: Iterable[Values] = value.attributes.values()
        else:
            groups = parents(value)
        for group in groups:
            pending.extend(group)
    return found


def given_to(loader: Loader, *names: str) -> Values:
    """What a loader is given for some of its parameters."""
    found: list[Value] = []
    for name in names:
        argument = loader.argument(name)
        found.extend(argument.values if argument is not None else ())
    return tuple(found)


def methods(values: Iterable[Value], names: tuple[str, ...]) -> Iterator[Function]:
    """The methods of these names that objects of the project among values have."""
    for value in values:
        if not isinstance(value, Instance):
            continue
        for name in names:
            for ancestor in value.cls.ancestry():
                if isinstance(ancestor, Class) and name in ancestor.scope.names:
                    for found in ancestor.scope.names[name]:
                        if isinstance(found, Function):
                            yield found
                    break


def reached_by(plan: Plan, roots: Iterable[Function]) -> Reads:
    """What functions of the project read, with all of the project that they call."""
    values: dict[int, Value] = {}
    attributes: set[tuple[int, str]] = set()
    owners: dict[int, Instance] = {}
    nodes: list[tuple[Function, cst.CSTNode]] = []
    pending, seen = list(roots), set[int]()
    while pending:
        function = pending.pop()
        if id(function.node) in seen:
            continue
        seen.add(id(function.node))
        for node in body_of(function):
            nodes.append((function, node))
            if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
                continue
            for value in plan.facts.values_of(node):
                values[id(value)] = value
                # What is called, and what is handed to something that may call it.
                pending.extend(called(value))
            if isinstance(node, cst.Attribute):
                for owner in plan.facts.values_of(node.value):
                    attributes.add((id(owner), node.attr.value))
                    if isinstance(owner, Instance):
                        owners[id(owner)] = owner
            if isinstance(node, (cst.Subscript, cst.For, cst.CompFor)):
                drawn = node.value if isinstance(node, cst.Subscript) else node.iter
                pending.extend(methods(plan.facts.values_of(drawn), (*DRAWING, "__missing__")))
            if isinstance(node, cst.Call):
                pending.extend(methods(plan.facts.values_of(node.func), ("__call__",)))
                for argument in node.args:
                    given = plan.facts.values_of(argument.value)
                    pending.extend(methods(given, ("__iter__", "__len__", "__next__")))
    return Reads(values, attributes, owners, tuple(nodes))


def body_of(function: Function) -> Iterator[cst.CSTNode]:
    """The nodes that run when a function is called."""
    node = function.node
    if isinstance(node, cst.Lambda):
        yield from descendants(node.body)
        return
    for child in children(node.body):
        yield from descendants(child)


def called(value: Value) -> Iterator[Function]:
    """The function of the project that a value is."""
    if isinstance(value, Function):
        yield value
    elif isinstance(value, BoundMethod):
        yield value.function
    elif isinstance(value, Partial):
        for callee in value.callee:
            yield from called(callee)


def root_names(value: Value) -> Iterator[str]:
    """The names outside the project that what a value is made of begins with.

    ``library.open(path).shuffle(10)["train"]`` begins with ``library.open``.
    """
    for maker in makers(value):
        yield from called_names(maker)


def makers(value: Value) -> Iterator[Opaque]:
    """The calls that make a value, and what its methods or items belong to, last call first."""
    pending, seen = [value], set[int]()
    while pending:
        current = pending.pop()
        if id(current) in seen or not isinstance(current, Opaque):
            continue
        seen.add(id(current))
        if current.kind == "call":
            yield current
            pending.extend(current.inner or current.callee)
        elif current.kind in ("attribute", "item"):
            pending.extend(current.operands[0] if current.operands else ())


@query
def drawing_code(plan: Plan) -> set[int]:
    """The identities of the nodes that run when a loader draws samples or makes a batch of them.

    Nothing in the project calls most of it.
    """
    return {id(node) for _, node in reached_by(plan, drawing_functions(plan)).nodes}


@query
def drawing_functions(plan: Plan) -> list[Function]:
    """The functions that loaders call to draw samples or to make a batch of them."""
    names = ("dataset", "sampler", "batch_sampler", "collate_fn", "batchify_fn")
    found: dict[int, Function] = {}
    for loader in plan.loaders:
        given = [given_to(loader, name) for name in names]
        held = held_by(tuple(value for values in given for value in values)).values()
        for function in (*methods(held, DRAWING), *collated_by(loader)):
            found[id(function.node)] = function
    return list(found.values())


def is_drawing(plan: Plan, event: Event) -> bool:
    """Whether an event happens while a sample is drawn, or nothing else in sight calls its code."""
    if event.detached:
        return True
    drawing = {id(function.node) for function in drawing_functions(plan)}
    return any(id(call.function.node) in drawing for call in event.calls())
