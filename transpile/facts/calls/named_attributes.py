"""Attributes that are reached and set by a name that is given as a text."""

from __future__ import annotations

import libcst as cst

from transpile.facts.expressions.evaluation import Expressions
from transpile.facts.expressions.namespaces import attributes_held
from transpile.facts.names import is_computed, is_told, may_be_one, names_of
from transpile.facts.state import unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    Constant,
    External,
    Instance,
    ModuleValue,
    Opaque,
    Value,
    Values,
    join,
)


class NamedAttributes(Expressions):
    """The part of the interpreter that knows ``getattr`` and ``setattr``."""

    def builtin_getattr(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``getattr(object, name)``: by a name that is known, or of which a part is written."""
        ordered = arguments.positional()
        if len(ordered) < 2:
            return unknown("getattr() with unknown arguments")
        default = ordered[2].values if len(ordered) > 2 else ()
        base = ordered[0].values
        found: Values = ()
        for name in names_of(ordered[1].values):
            named = self.attribute_named(base, name, node)
            if named is None:
                break
            found = join(found, named)
        else:
            if found:
                return join(found, default)
        made = self.opaque("operation", node, "getattr", (base, ordered[1].values))
        made.cache.setdefault("unknown", "its name is computed when the script runs")
        return join((made,), default)

    def attribute_named(self, base: Values, name: str, node: cst.CSTNode) -> Values | None:
        """The attributes that a name may stand for; None where they cannot be told."""
        if not is_computed(name):
            return self.attribute(base, name, node)
        if not is_told(name):
            return None
        found: Values = ()
        for value in base:
            kept = attributes_of(value)
            if kept is None:
                return None
            held = [word for word in kept if may_be_one(name, word)]
            cls = value.cls if isinstance(value, Instance) else value
            for ancestor in cls.ancestry() if isinstance(cls, Class) else ():
                if isinstance(ancestor, Class):
                    held += [word for word in ancestor.scope.names if may_be_one(name, word)]
            if not held:
                return None
            for word in dict.fromkeys(held):
                own = kept.get(word) if is_computed(word) else None
                found = join(found, own or self.attribute((value,), word, node))
        return found

    def builtin_setattr(self, arguments: Arguments, node: cst.CSTNode, own: bool = True) -> Values:
        """``setattr(object, name, value)``.

        Args:
            arguments: what it is given.
            node: the call.
            own: whether ``__setattr__`` of the object's class counts.
        """
        ordered = arguments.positional()
        if len(ordered) == 3:
            names = names_of(ordered[1].values)
            for value in ordered[0].values:
                for name in names:
                    if self.set_by_class(value, name, ordered[2].values, node, own):
                        continue
                    held = attributes_of(value)
                    if isinstance(value, Instance):
                        self.keep_under(value, name, ordered[2].values)
                    elif isinstance(value, External) and not is_computed(name):
                        self.keep_outside(value, name, ordered[2].values)
                    elif held is not None and is_told(name):
                        if is_computed(name):
                            self.with_computed.add(identity(value))
                        self.set_attribute(held, name, ordered[2].values, False)
            self.record(
                "store",
                node,
                ordered[0].values,
                result=ordered[2].values,
                name=names[0] if len(names) == 1 and not is_computed(names[0]) else "?",
            )
        return (Constant(None),)

    def object_method(
        self, receivers: Values, name: str, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """What a method does that every object has, past that of its own class; else None."""
        receiver = Argument(receivers, None)
        if name == "__setattr__":
            given = Arguments((receiver, *arguments.items), arguments.unknown_because)
            return self.builtin_setattr(given, node, own=False)
        names = arguments.items[0].values if arguments.items else ()
        if name == "__getattribute__" and names:
            given = Arguments((receiver, Argument(names, None)))
            return self.builtin_getattr(given, node)
        return None

    def keep_under(self, instance: Instance, name: str, values: Values) -> None:
        """Keep an attribute of an object, by a name of which a part at least is written."""
        if is_told(name):
            if is_computed(name):
                instance.computed.add(name)
            self.set_attribute(instance.attributes, name, values, definite=False)


def attributes_of(value: Value) -> dict[str, Values] | None:
    """The attributes of something by name, as far as the script sets them; None for others."""
    return value.attributes if isinstance(value, Opaque) else attributes_held(value)


def identity(value: Value) -> int:
    """What tells one holder of attributes from another: a module may be several values."""
    return id(value.module) if isinstance(value, ModuleValue) else id(value)
