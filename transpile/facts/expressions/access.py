"""What attributes, indices and iteration give."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.expressions.descriptors import Descriptors
from transpile.facts.names import may_be_one
from transpile.facts.state import external, unknown
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Generator,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Partial,
    Sequence,
    Super,
    Unknown,
    Value,
    Values,
    join,
    only_constant,
)


class Access(Descriptors):
    """The part of the interpreter that knows how parts of values are reached."""

    def attribute(self, base: Values, name: str, node: cst.CSTNode) -> Values:
        """The values of ``base.name``."""
        if len(base) == 1:
            only = self.attribute_of(base[0], name, node)
            return only if len(only) < 2 else join(only)
        found: list[Value] = []
        for value in base:
            found.extend(self.attribute_of(value, name, node))
        return join(found)

    def attribute_of(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """The attribute of one alternative."""
        if isinstance(value, External):
            dotted = self.dialect.canonical(f"{value.name}.{name}")
            kept = self.environment.get(dotted)
            return external(dotted) if kept is None else join(external(dotted), kept)
        if isinstance(value, Unknown):
            return (value,)
        if isinstance(value, Instance):
            return self.instance_attribute(value, name, node)
        if isinstance(value, Class):
            if name == "__name__":
                return (Constant(value.name),)
            found = self.class_attribute(value, name, None, value, node)
            if found is None:
                found = self.special_method(value, name, node)
            return found or (self.opaque("attribute", node, name, ((value,),)),)
        if isinstance(value, Super):
            return self.super_attribute(value, name, node)
        if isinstance(value, ModuleValue):
            return self.module_attribute(value, name)
        if isinstance(value, Opaque):
            if name in self.wrapper_attributes and value.kind == "call":
                return (value,)
            methods = self.methods_of_argument(value, name, node)
            if methods:
                return methods
            stored = self.kept_as(value, value.attributes, name)
            key = ("attribute", id(value), name)
            made = self.nodes.get(key)
            if not isinstance(made, Opaque):
                made = Opaque("attribute", node, self.module, name, operands=((value,),))
                self.nodes[key] = made
            return (made,) if stored is None else join(stored, (made,))
        if isinstance(value, Partial) and name == "func":
            return value.callee
        stored = None
        if isinstance(value, Function):
            stored = self.kept_as(value, value.attributes, name)
        if stored is not None:
            return stored
        key = ("attribute", id(value) if not isinstance(value, Constant) else id(node), name)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("attribute", node, self.module, name, operands=((value,),))
            self.nodes[key] = made
        return (made,)

    def methods_of_argument(self, value: Opaque, name: str, node: cst.CSTNode) -> Values:
        """The methods ``name`` of the project's objects that an attribute gives back.

        ``loader.dataset`` is what the loader was made of.
        """
        found: list[Value] = []
        for kept in self.kept_objects(value):
            for ancestor in kept.cls.ancestry():
                if isinstance(ancestor, Class) and name in ancestor.scope.names:
                    for method in ancestor.scope.names[name]:
                        if isinstance(method, Function) and not method.decorators:
                            found.append(BoundMethod(kept, method))
                    break
        return tuple(found)

    def kept_objects(self, value: Opaque) -> Iterator[Instance]:
        """The project's objects that an attribute of something made outside gives back."""
        for maker in value.operands[0] if value.kind == "attribute" else ():
            if not isinstance(maker, Opaque) or maker.kind != "call":
                continue
            for callee in maker.callee:
                name = callee.name if isinstance(callee, External) else ""
                position = self.dialect.keeps_argument.get((name, value.name))
                given = maker.arguments.get(value.name, position) if position is not None else None
                for kept in given.values if given is not None else ():
                    if isinstance(kept, Instance):
                        yield kept

    def instance_attribute(self, value: Instance, name: str, node: cst.CSTNode) -> Values:
        """An attribute of an object of a project class: its own, its class's, or opaque."""
        own = value.attributes.get(name)
        for word in value.computed:
            if may_be_one(word, name):
                own = join(own or (), value.attributes[word])
        if own is not None and not any(self.setters(value, name)):
            return self.buffers.read(own, self.stack)
        if name == "__class__":
            return (value.cls,)
        found = self.class_attribute(value.cls, name, value, value.cls, node)
        if found is not None:
            return found
        if name in self.wrapper_attributes:
            return (value,)
        key = ("attribute", id(value), name)
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("attribute", node, self.module, name, operands=((value,),))
            self.nodes[key] = made
        return join(self.asked_for(value, name, node), (made,))

    def asked_for(self, value: Instance, name: str, node: cst.CSTNode) -> Values:
        """What ``__getattr__`` of an object gives for an attribute that it does not have."""
        if name.startswith("__"):
            return ()
        method = self.class_attribute(value.cls, "__getattr__", value, value.cls, node)
        if method is None:
            return ()
        return self.invoke(method, Arguments((Argument((Constant(name),), node),)), node)

    def module_attribute(self, value: ModuleValue, name: str) -> Values:
        """A name of a project module, or one of its submodules."""
        self.import_module(value.module)
        scope = value.module.scope
        stored = self.kept_as(value.module, scope.names, name) if scope is not None else None
        if stored is not None:
            return stored
        child = self.find_module(f"{value.module.name}.{name}", value.module)
        if child is not None:
            return (ModuleValue(child),)
        return unknown(f"'{name}' is not bound in module {value.module.name}")

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """An element of each alternative of `base`."""
        constant = only_constant(index)
        found: list[Value] = []
        for value in base:
            if isinstance(value, Unknown):
                found.append(value)
            elif isinstance(value, Mapping):
                if value.makes_lists or value.factory:
                    self.make_missing(value, index, node)
                if constant is not None and constant.value in value.entries:
                    found.extend(join(value.entries[constant.value].values, value.rest))
                elif constant is None and index:
                    found.extend(value.every() or unknown("an entry of a dict"))
                elif constant is not None and value.rest:
                    # It was put there under a key that is computed.
                    found.extend(value.rest)
                else:
                    found.append(self.opaque("item", node, "", ((value,),), index=index))
            elif isinstance(value, Sequence):
                found.extend(self.sequence_item(value, constant, node))
            elif isinstance(value, (Instance, Class)):
                told = self.ask_object(value, "__getitem__", (index,), node)
                if told is None and isinstance(value, Class):
                    method = self.class_attribute(value, "__class_getitem__", None, value, node)
                    given = Arguments((Argument(index, None),))
                    told = self.invoke(method, given, node) if method is not None else None
                found.extend(told or (self.opaque("item", node, "", ((value,),), index=index),))
            else:
                named = self.named_item(value, constant)
                found.extend(named)
                if not named or isinstance(value, External):
                    found.append(self.opaque("item", node, "", ((value,),), index=index))
        return join(found)

    def elements(self, values: Values, node: cst.CSTNode) -> Values:
        """What iterating over `values` gives."""
        found: list[Value] = []
        for value in values:
            found.extend(self.elements_of(value, node))
        return join(found)

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating over one alternative gives."""
        if isinstance(value, Unknown):
            return (value,)
        if isinstance(value, Sequence):
            return value.every()
        if isinstance(value, Mapping):
            keys: tuple[Value, ...] = tuple(Constant(key) for key in value.entries)
            if not value.open_because:
                return keys
            return join(keys, value.computed, unknown("a key of a dict"))
        if isinstance(value, Generator):
            return value.yields
        if isinstance(value, Constant):
            return (self.opaque("element", node, "", ((value,),)),)
        if isinstance(value, (Instance, Class)):
            iterated = self.ask_first(value, ("__iter__", "__aiter__"), (), node)
            if iterated is not None:
                if any(inner is value for inner in iterated):
                    return self.ask_first(value, ("__next__", "__anext__"), (), node) or ()
                return self.elements(iterated, node)
        if isinstance(value, Instance):
            asked = self.asked_by_index(value, node)
            if asked:
                return asked
        key = ("element", id(value), self.context, id(node))
        made = self.nodes.get(key)
        if not isinstance(made, Opaque):
            made = Opaque("element", node, self.module, operands=((value,),))
            self.nodes[key] = made
        return (made,)

    def asked_by_index(self, value: Instance, node: cst.CSTNode) -> Values:
        """What an object gives that is iterated by asking it for 0, 1, 2 and so on.

        Objects with a base outside the project are what that base is, such as a data set.
        """
        if set(value.cls.external_bases()) - {"builtins.object"}:
            return ()
        method = self.class_attribute(value.cls, "__getitem__", value, value.cls, node)
        if method is None:
            return ()
        index = unknown("the position that an object is asked for")
        return self.invoke(method, Arguments((Argument(index, None),)), node)
