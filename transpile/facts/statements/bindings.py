"""Binding of names, attributes and items."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transpile.facts.calls.dispatch import Calls
from transpile.facts.events import Branch, Call, Loop
from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Scope,
    Sequence,
    Unknown,
    Value,
    Values,
    join,
)


class Bindings(Calls):
    """The part of the interpreter that knows assignment targets."""

    def bind_target(self, target: cst.CSTNode, values: Values) -> None:
        """Assign `values` to a target."""
        if isinstance(target, cst.Name):
            self.bind_name(target.value, values)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.bind_elements(target, values)
        elif isinstance(target, cst.StarredElement):
            self.bind_target(target.value, values)
        elif isinstance(target, cst.Attribute):
            self.store_attribute(target, values)
        elif isinstance(target, cst.Subscript):
            self.store_subscript(target, values)

    def bind_name(self, name: str, values: Values) -> None:
        """Bind a name in the scope that owns it."""
        scope = self.activation.scope
        if name in scope.globals_declared and self.module.scope is not None:
            owner: Scope = self.module.scope
        elif name in scope.nonlocals_declared:
            outer = scope.parent
            while outer is not None and name not in outer.names:
                outer = outer.parent
            owner = outer if outer is not None else scope
        else:
            scope.names[name] = values
            return
        old = owner.names.get(name, ())
        new = join(old, values)
        if new != old:
            owner.names[name] = new
            self.heap_version += 1

    def bind_elements(self, target: Any, values: Values) -> None:
        """Unpack values into several targets."""
        targets = list(target.elements)
        parts: list[list[Value]] = [[] for _ in targets]
        star = next(
            (at for at, one in enumerate(targets) if isinstance(one, cst.StarredElement)), None
        )
        taken: list[Values] | None = None
        for value in self.as_containers(values, "__iter__"):
            if isinstance(value, Sequence) and not value.rest:
                spread = value.elements
                if star is not None and len(spread) >= len(targets) - 1:
                    behind = len(spread) - (len(targets) - star - 1)
                    # Only where there is one way to come here the list is known entry by entry.
                    taken = spread[star:behind] if len(values) == 1 else None
                    parts[star].extend(one for each in spread[star:behind] for one in each)
                    spread = [*spread[:star], (), *spread[behind:]]
                if len(spread) == len(targets):
                    for part, element_values in zip(parts, spread, strict=True):
                        part.extend(element_values)
                    continue
            if isinstance(value, Sequence):
                for part in parts:
                    part.extend(value.every())
                continue
            if isinstance(value, Unknown):
                for part in parts:
                    part.append(value)
                continue
            if isinstance(value, (Mapping, Generator)) or self.iterates(value, target):
                held = self.elements((value,), target)
                for part in parts:
                    part.extend(held)
                continue
            for position, part in enumerate(parts):
                after_star = star is not None and position > star
                at = position - len(targets) if after_star else position
                part.append(self.unpacked(value, at, target))
        for element, part in zip(targets, parts, strict=True):
            if isinstance(element, cst.StarredElement):
                found = taken if taken is not None else []
                rest = () if taken is not None else join(part)
                self.bind_target(element, (self.made_sequence(element, "list", found, rest),))
            else:
                self.bind_target(element.value, join(part))

    def iterates(self, value: Value, node: cst.CSTNode) -> bool:
        """Whether an object of the project says itself what comes of it, one after the other."""
        if not isinstance(value, Instance):
            return False
        own = self.class_attribute(value.cls, "__iter__", value, value.cls, node)
        return own is not None or bool(self.asked_by_index(value, node))

    def unpacked(self, value: Value, position: int, node: cst.CSTNode) -> Opaque:
        """The element at a position of something that is unpacked."""
        key = ("unpacked", id(value), position)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque(
                "item",
                node,
                self.module,
                str(position),
                operands=((value,),),
                index=(Constant(position),),
            )
            self.nodes[key] = made
        return made

    def store_attribute(self, target: cst.Attribute, values: Values) -> None:
        """``base.name = value``."""
        base = self.evaluate(target.value)
        name = target.attr.value
        for value in base:
            if self.set_by_class(value, name, values, target):
                continue
            if isinstance(value, (Instance, Opaque, Function)):
                made_here = isinstance(value, Instance) and name not in value.attributes
                if isinstance(value, Instance) and made_here and not self.is_straight():
                    # It may stay what the class, or its ``__getattr__``, gives without that.
                    before = self.without_own(value, name, target)
                    values = join(before, values)
                definite = len(base) == 1 and (made_here or self.is_straight())
                self.set_attribute(value.attributes, name, values, definite)
            elif isinstance(value, Class):
                self.set_attribute(value.scope.names, name, values, False)
            elif isinstance(value, External):
                self.keep_outside(value, name, values)
            elif isinstance(value, ModuleValue) and value.module.scope is not None:
                self.set_attribute(value.module.scope.names, name, values, False)
        self.record("store", target, base, result=values, name=name)

    def without_own(self, value: Instance, name: str, node: cst.CSTNode) -> Values:
        """What an attribute that an object does not have is, where it is there nevertheless.

        Not while the object is made: what its class has then is nothing but where it begins.
        """
        for frame in self.stack:
            if isinstance(frame, Call) and frame.function.name == "__init__":
                if any(one is value for one in frame.receiver):
                    return ()
        found = self.class_attribute(value.cls, name, value, value.cls, node)
        if found is None and not self.class_attribute(
            value.cls, "__getattr__", None, value.cls, node
        ):
            return ()
        return self.instance_attribute(value, name, node)

    def is_straight(self) -> bool:
        """Whether an attribute set here replaces the old one for certain.

        Only in straight code of the same call as the place that made the object.
        """
        return not any(isinstance(frame, (Branch, Loop)) for frame in self.stack)

    def store_subscript(self, target: cst.Subscript, values: Values) -> None:
        """``base[key] = value``."""
        base = self.evaluate(target.value)
        keys: Values = ()
        for element in target.slice:
            if isinstance(element.slice, cst.Index):
                keys = self.evaluate(element.slice.value)
            elif isinstance(element.slice, cst.Slice):
                for bound in (element.slice.lower, element.slice.upper):
                    if bound is not None:
                        self.evaluate(bound)
        for value in base:
            self.set_named(value, keys, values)
            if self.holds_parts(value):
                self.put_parts(value, values)
        self.buffers.write_items(base, values)
        for value in self.as_containers(base, "__setitem__"):
            self.ask_object(value, "__setitem__", (keys, values), target)
            if isinstance(value, Mapping):
                self.store_item(value, keys, values, None)
            elif isinstance(value, Sequence):
                self.store_element(value, keys, values)
        self.record("store", target, base, result=values, name="[]")
