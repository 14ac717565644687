"""Attributes that are reached and set by a name that is given as a text."""

from __future__ import annotations

import libcst as cst

from transpile.facts.expressions.evaluation import Expressions
from transpile.facts.names import is_computed, is_told, may_be_one, names_of
from transpile.facts.state import unknown
from transpile.facts.values import (
    Arguments,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
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
        if not is_told(name) or not all(isinstance(value, Instance) for value in base):
            return None
        found: Values = ()
        for value in base:
            assert isinstance(value, Instance)
            held = [word for word in value.attributes if may_be_one(name, word)]
            for ancestor in value.cls.ancestry():
                if isinstance(ancestor, Class):
                    held += [word for word in ancestor.scope.names if may_be_one(name, word)]
            if not held:
                return None
            for word in dict.fromkeys(held):
                own = value.attributes[word] if is_computed(word) else None
                found = join(found, own or self.attribute((value,), word, node))
        return found

    def builtin_setattr(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """``setattr(object, name, value)``."""
        ordered = arguments.positional()
        if len(ordered) == 3:
            names = names_of(ordered[1].values)
            for value in ordered[0].values:
                for name in names:
                    if isinstance(value, Instance):
                        self.keep_under(value, name, ordered[2].values)
                    elif is_computed(name):
                        continue
                    elif isinstance(value, (Opaque, Function)):
                        self.set_attribute(value.attributes, name, ordered[2].values, False)
                    elif isinstance(value, External):
                        self.keep_outside(value, name, ordered[2].values)
                    elif isinstance(value, Class):
                        self.set_attribute(value.scope.names, name, ordered[2].values, False)
            self.record(
                "store",
                node,
                ordered[0].values,
                result=ordered[2].values,
                name=names[0] if len(names) == 1 and not is_computed(names[0]) else "?",
            )
        return (Constant(None),)

    def keep_under(self, instance: Instance, name: str, values: Values) -> None:
        """Keep an attribute of an object, by a name of which a part at least is written."""
        if is_told(name):
            if is_computed(name):
                instance.computed.add(name)
            self.set_attribute(instance.attributes, name, values, definite=False)
