"""Containers of a framework that hold parts of models: iterating over them gives those parts."""

from __future__ import annotations

import libcst as cst

from transpile.facts.expressions.access import Access
from transpile.facts.values import (
    External,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)

#: Methods that put more into such a container.
PUTTING = frozenset({"append", "extend", "insert"})


class HeldParts(Access):
    """The part of the interpreter that knows what is in a framework's containers of parts."""

    def holds_parts(self, value: Value) -> bool:
        """Whether a value is such a container."""
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
            elif self.holds_parts(value):
                assert isinstance(value, Opaque)
                given = (item.values for item in value.arguments.items)
                put = self.parts.get(id(value), ())
                held = join(*given, value.arguments.rest, put)
                every = (one.every() if isinstance(one, Sequence) else (one,) for one in held)
                parts = join(*every)
                found = tuple(one for one in parts if isinstance(one, Instance))
                own, only = join(own, found), only and len(found) == len(parts)
            else:
                only = False
        return own, only

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating over one alternative gives: parts of the project, and others."""
        own, only = self.own_parts((value,)) if isinstance(value, Opaque) else ((), False)
        if own and only:
            return own
        return join(super().elements_of(value, node), own)

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """An element of each alternative, parts of the project as what they are."""
        own, only = self.own_parts(base) if index else ((), False)
        if own and only:
            return own
        return join(super().item(base, index, node), own)
