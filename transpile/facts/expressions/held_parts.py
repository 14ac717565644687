"""Containers of a framework that hold parts of models: iterating over them gives those parts."""

from __future__ import annotations

import libcst as cst

from transpile.facts.expressions.access import Access
from transpile.facts.state import unknown
from transpile.facts.values import (
    Class,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)

#: Methods that put more into such a container.
PUTTING = frozenset({"append", "extend", "insert", "add", "add_sublayer", "update", "__setitem__"})
#: The attribute under which an object of a class derived from such a container keeps its parts.
PARTS = "parts of itself"


class HeldParts(Access):
    """The part of the interpreter that knows what is in a framework's containers of parts."""

    def holds_parts(self, value: Value) -> bool:
        """Whether a value is such a container, or an object of a class derived from one."""
        if isinstance(value, Instance):
            return bool(self.dialect.gives_parts) and any(
                self.is_subclass(value.cls, base) for base in self.dialect.holds_parts
            )
        return (
            isinstance(value, Opaque)
            and value.kind == "call"
            and any(
                isinstance(callee, External)
                and self.dialect.canonical(callee.name) in self.dialect.holds_parts
                for callee in value.callee
            )
        )

    def put_parts(self, container: Value, values: Values) -> None:
        """Note what a method puts into a container."""
        if isinstance(container, Instance):
            before = container.attributes.get(PARTS, ())
            after = tuple(dict.fromkeys((*before, *spread(values))))
            if len(after) > len(before):
                container.attributes[PARTS] = after
                self.heap_version += 1
            return
        known = self.parts.get(id(container), ())
        joined = join(known, values)
        if joined != known:
            self.parts[id(container)] = joined
            self.heap_version += 1

    def own_parts(self, values: Values) -> tuple[Values, bool]:
        """The objects of the project in containers of parts, and whether nothing else is there."""
        own: Values = ()
        only = bool(values)
        seen: set[int] = set()
        pending = [*values]
        while pending:
            value = pending.pop(0)
            if isinstance(value, Opaque) and value.kind == "item" and not value.index:
                # A part of such a container, cut out by a slice, perhaps again and again.
                if id(value) not in seen:
                    seen.add(id(value))
                    pending[:0] = value.operands[0]
                    only = only and bool(value.operands[0])
            elif isinstance(value, Instance):
                parts = value.attributes.get(PARTS, ()) if self.holds_parts(value) else ()
                found = tuple(one for one in parts if isinstance(one, Instance))
                own, only = join(own, found), only and len(found) == len(parts)
            elif self.holds_parts(value):
                assert isinstance(value, Opaque)
                given = (item.values for item in value.arguments.items)
                put = self.parts.get(id(value), ())
                held = join(*given, value.arguments.rest, put)
                parts = spread(held)
                found = tuple(one for one in parts if isinstance(one, Instance))
                own, only = join(own, found), only and len(found) == len(parts)
            else:
                only, own = False, join(own, self.parts_given(value))
        return own, only

    def parts_given(self, value: Value) -> Values:
        """The parts of the project among what a model or container gives as its children."""
        if not isinstance(value, Opaque):
            return ()
        found: Values = ()
        for callee in (value, *value.callee):
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            if callee.name not in self.dialect.gives_parts:
                continue
            for holder in callee.operands[0]:
                if isinstance(holder, Instance):
                    held = join(*holder.attributes.values())
                    found = join(found, (one for one in spread(held) if self.is_part(one)))
                else:
                    found = join(found, self.own_parts((holder,))[0])
        return found

    def is_part(self, value: Value) -> bool:
        """Whether a value is an object of a class of the project that calls dispatch to."""
        return isinstance(value, Instance) and self.dispatch(value) is not None

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating over one alternative gives: parts of the project, and others."""
        own: Values = ()
        only = False
        if isinstance(value, Opaque) or (self.holds_parts(value) and not iterates(value)):
            own, only = self.own_parts((value,))
        if own and only:
            return own
        if own and self.gives_pairs(value):
            return join(super().elements_of(value, node), (self.named_parts(value, own, node),))
        return join(super().elements_of(value, node), own)

    def gives_pairs(self, value: Value) -> bool:
        """Whether iterating over a value gives parts with their names."""
        return isinstance(value, Opaque) and any(
            isinstance(callee, Opaque) and (callee.name == "items" or "named" in callee.name)
            for callee in value.callee
        )

    def named_parts(self, value: Value, own: Values, node: cst.CSTNode) -> Sequence:
        """A name that is not known, and the parts that it may be of."""
        key = ("named parts", id(value), id(node))
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence("tuple", node, [unknown("the name of a part"), own])
            self.nodes[key] = made
        made.elements[1] = join(made.elements[1], own)
        return made

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """An element of each alternative, parts of the project as what they are."""
        own, only = self.own_parts(base) if index else ((), False)
        if own and only:
            return own
        return join(super().item(base, index, node), own)


def iterates(value: Value) -> bool:
    """Whether the class of an object says itself what iterating over it gives."""
    return isinstance(value, Instance) and any(
        isinstance(one, Class) and "__iter__" in one.scope.names for one in value.cls.ancestry()
    )


def spread(values: Values) -> Values:
    """Values, and in place of lists and dicts what they hold; however many there are."""
    found: list[Value] = []
    for value in values:
        groups: tuple[Values, ...] = ()
        if isinstance(value, Sequence):
            groups = (*value.elements, value.rest)
        elif isinstance(value, Mapping):
            groups = (*(entry.values for entry in value.entries.values()), value.rest)
        else:
            found.append(value)
        found.extend(one for group in groups for one in spread(group))
    return tuple(found)
