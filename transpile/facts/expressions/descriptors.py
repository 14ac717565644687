"""What classes say of their objects: methods, properties, descriptors and special methods.

Classes are objects, too: what their metaclass says of them is asked in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from transpile.facts.expressions.namespaces import Namespaces
from transpile.facts.names import is_computed, may_be_one
from transpile.facts.state import external
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Partial,
    Super,
    Value,
    Values,
    join,
)

PROPERTY = "builtins.property"
PROPERTIES = frozenset({PROPERTY, "functools.cached_property"})
#: Decorators that a property gives, and the attribute that keeps what they decorate.
ACCESSORS = {"getter": "fget", "setter": "fset", "deleter": "fdel"}
#: Methods that are methods of the class without saying so.
OF_CLASSES = frozenset({"__init_subclass__", "__class_getitem__"})
#: Methods that every object has, by which a class may do what they would do without it.
OF_OBJECTS = frozenset({"__setattr__", "__delattr__", "__getattribute__"})
NOT_IMPLEMENTED = External("builtins.NotImplemented")
#: What says whether an object is true.
TRUTH = ("__bool__", "__len__")


class Descriptors(Namespaces):
    """The part of the interpreter that knows what classes define."""

    @cached_property
    def accessors(self) -> set[str]:
        """Names by which some class of the project says what setting an attribute does."""
        return set()

    @cached_property
    def with_computed(self) -> set[int]:
        """The identities of what has attributes of which a part of the name is computed."""
        return set()

    def class_attribute(
        self,
        cls: Class,
        name: str,
        receiver: Value | None,
        start: Class,
        node: cst.CSTNode,
    ) -> Values | None:
        """A name in the class or its bases, bound to the receiver at `node`; None where absent."""
        for ancestor in start.ancestry():
            if isinstance(ancestor, Class):
                found = self.kept_as(ancestor, ancestor.scope.names, name)
                if found is not None:
                    return self.bind(found, receiver, cls, node)
        return None

    def kept_as(self, owner: object, held: dict[str, Values], name: str) -> Values | None:
        """What is kept under a name, also where the script computes a part of it; None if not."""
        found = held.get(name)
        if id(owner) in self.with_computed:
            for word, values in list(held.items()):
                if is_computed(word) and may_be_one(word, name):
                    found = join(found or (), values)
        return found

    def bind(self, values: Values, receiver: Value | None, cls: Class, node: cst.CSTNode) -> Values:
        """Functions found on a class become methods; properties are called at `node`."""
        bound: list[Value] = []
        for value in values:
            if isinstance(value, Instance):
                asked = (receiver or Constant(None),), (cls,)
                found = self.ask_object(value, "__get__", asked, node)
                bound.extend((value,) if found is None else found)
                continue
            if isinstance(value, Partial) and value.is_method:
                bound.append(self.bound_partial(value, receiver, cls, node))
                continue
            if not isinstance(value, Function):
                bound.append(value)
                continue
            words = decorator_names(value)
            if "builtins.staticmethod" in words:
                bound.append(value)
            elif "builtins.classmethod" in words or value.name in OF_CLASSES:
                bound.append(BoundMethod(cls, value))
            elif receiver is None:
                bound.append(value)
            elif words & PROPERTIES:
                bound.extend(self.invoke((BoundMethod(receiver, value),), Arguments(), node))
            else:
                bound.append(BoundMethod(receiver, value))
        return tuple(bound)

    def bound_partial(
        self, value: Partial, receiver: Value | None, cls: Class, node: cst.CSTNode
    ) -> Partial:
        """The method that ``functools.partialmethod`` gives an object."""
        key = ("bound partial", id(value), id(receiver))
        made = self.nodes.get(key)
        if not isinstance(made, Partial):
            made = Partial((), value.arguments, value.node)
            self.nodes[key] = made
        made.callee = join(made.callee, self.bind(value.callee, receiver, cls, node))
        return made

    def super_attribute(self, value: Super, name: str, node: cst.CSTNode) -> Values:
        """``super().name``: the next definition behind the class."""
        receivers = value.receiver
        receiver = receivers if isinstance(receivers, Instance) else None
        ancestry = list((receiver.cls if receiver is not None else value.behind).ancestry())
        if value.behind in ancestry:
            ancestry = ancestry[ancestry.index(value.behind) + 1 :]
        is_meta = isinstance(receivers, Class) and value.behind in receivers.metaclasses()
        for ancestor in ancestry:
            if isinstance(ancestor, Class) and name in ancestor.scope.names:
                cls = receivers if isinstance(receivers, Class) else ancestor
                own = receivers if is_meta else receiver
                return self.bind(ancestor.scope.names[name], own, cls, node)
        if name in OF_OBJECTS or (is_meta and name == "__call__"):
            return (self.opaque("attribute", node, name, operands=((receivers,),)),)
        for ancestor in ancestry:
            if isinstance(ancestor, External):
                return external(f"{ancestor.name}.{name}")
        return external(f"builtins.object.{name}")

    # Special methods.

    def special_method(self, value: Value, name: str, node: cst.CSTNode) -> Values | None:
        """A special method of an object or a class, as its class has it; None where it has none."""
        if isinstance(value, Instance):
            return self.class_attribute(value.cls, name, value, value.cls, node)
        if isinstance(value, Class):
            for metaclass in value.metaclasses():
                return self.class_attribute(metaclass, name, value, metaclass, node)
        return None

    def ask_object(
        self, value: Value, method: str, given: tuple[Values, ...], node: cst.CSTNode
    ) -> Values | None:
        """What a special method of an object gives; None where its class has none."""
        found = self.special_method(value, method, node)
        if found is None:
            return None
        return self.invoke(found, Arguments(tuple(Argument(each, None) for each in given)), node)

    def ask_first(
        self, value: Value, methods: tuple[str, ...], given: tuple[Values, ...], node: cst.CSTNode
    ) -> Values | None:
        """What the first of several special methods gives that can do it; None where none can."""
        for method in methods:
            found = self.ask_object(value, method, given, node)
            if found is not None and found != (NOT_IMPLEMENTED,):
                return tuple(one for one in found if one != NOT_IMPLEMENTED)
        return None

    def answers(
        self, values: Values, methods: tuple[str, ...], given: tuple[Values, ...], node: cst.CSTNode
    ) -> Values:
        """Values, and what the special methods of the objects among them give in their place."""
        if not any(isinstance(value, (Instance, Class)) for value in values):
            return values
        found: list[Value] = []
        for value in values:
            told = self.ask_first(value, methods, given, node)
            found.extend((value,) if told is None else told)
        return join(found)

    # Attributes that are set.

    def make_property(self, given: dict[str, Values], node: cst.CSTNode) -> Function | None:
        """A property with these functions; None where they cannot be followed."""
        functions = [
            one
            for word in ACCESSORS.values()
            for one in given.get(word, ())
            if isinstance(one, Function)
        ]
        if not functions:
            return None
        key = ("property", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Function):
            get = functions[0]
            made = Function(
                get.node,
                get.module,
                get.name,
                get.closure,
                get.defaults,
                get.owner,
                (external(PROPERTY),),
                get.is_generator,
            )
            self.nodes[key] = made
            self.functions[id(get.node)] = made
        made.attributes.update(given)
        return made

    def accessor(self, made: Function, decorators: tuple[Values, ...]) -> Function | None:
        """The property that ``@name.setter`` and the like make; None for other decorators."""
        for value in join(*decorators):
            if not isinstance(value, Opaque) or value.kind != "attribute":
                continue
            for old in value.operands[0] if value.name in ACCESSORS else ():
                if isinstance(old, Function) and is_property(old):
                    given = {"fget": (old,), **old.attributes, ACCESSORS[value.name]: (made,)}
                    return self.make_property(given, made.node)
        return None

    def setters(self, value: Value, name: str) -> Iterator[Value]:
        """The properties and descriptors by which a class sets an attribute of its objects."""
        if name not in self.accessors:
            return
        kind = value.cls if isinstance(value, Instance) else None
        if isinstance(value, Class):
            kind = next(iter(value.metaclasses()), None)
        for ancestor in kind.ancestry() if kind is not None else ():
            if isinstance(ancestor, Class) and name in ancestor.scope.names:
                yield from filter(self.is_accessor, ancestor.scope.names[name])
                return

    def is_accessor(self, value: Value) -> bool:
        """Whether a value in a class says what setting, or deleting, the attribute does."""
        if isinstance(value, Function):
            return is_property(value) and bool(value.attributes.keys() & {"fset", "fdel"})
        return isinstance(value, Instance) and any(
            isinstance(one, Class) and one.scope.names.keys() & {"__set__", "__delete__"}
            for one in value.cls.ancestry()
        )

    def set_by_class(
        self, value: Value, name: str, values: Values, node: cst.CSTNode, own: bool = True
    ) -> bool:
        """Set an attribute where the class says how; whether it does.

        Args:
            value: the object.
            name: the attribute.
            values: what it is set to.
            node: where.
            own: whether ``__setattr__`` of the class counts, too.
        """
        if own and "__setattr__" in self.accessors:
            if self.ask_object(value, "__setattr__", ((Constant(name),), values), node) is not None:
                return True
        found = False
        for accessor in self.setters(value, name):
            found = True
            if isinstance(accessor, Function):
                for setter in accessor.attributes.get("fset", ()):
                    if isinstance(setter, Function):
                        given = Arguments((Argument(values, None),))
                        self.invoke((BoundMethod(value, setter),), given, node)
            else:
                self.ask_object(accessor, "__set__", ((value,), values), node)
        return found

    def delete_by_class(self, value: Value, name: str, node: cst.CSTNode) -> None:
        """Delete an attribute where the class says how."""
        if self.ask_object(value, "__delattr__", ((Constant(name),),), node) is not None:
            return
        for accessor in self.setters(value, name):
            if isinstance(accessor, Function):
                for deleter in accessor.attributes.get("fdel", ()):
                    if isinstance(deleter, Function):
                        self.invoke((BoundMethod(value, deleter),), Arguments(), node)
            else:
                self.ask_object(accessor, "__delete__", ((value,),), node)


def decorator_names(value: Function) -> set[str]:
    """The dotted names of what decorates a function, from outside the project."""
    return {
        decorator.name
        for decorators in value.decorators
        for decorator in decorators
        if isinstance(decorator, External)
    }


def is_property(value: Function) -> bool:
    """Whether a function is called where its name is read."""
    return PROPERTY in decorator_names(value)
