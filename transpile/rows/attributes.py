"""Attributes of objects, and what the facts know of values."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.names import may_be_one
from transpile.facts.values import (
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
    Value,
    Values,
    join,
)
from transpile.facts.values import Unknown as UnknownFact
from transpile.plan.graph import called_names, method_calls, origin

from .domain import (
    PLAIN,
    Coupled,
    Group,
    Held,
    Known,
    Method,
    Number,
    Record,
    Tensor,
    Unknown,
    choice,
    options,
)
from .kept import kept_layers, kept_tensors
from .shapes import Impossible, Mixed, Unclear
from .state import Given, Running

#: Attributes of a model that each process has alike.
PLAIN_ATTRIBUTES = frozenset({"training", "device", "dtype", "__name__", "__version__"})


class Attributes(Running):
    """The part of a run that knows objects."""

    @property
    def module(self) -> Module:
        """The module whose code runs."""
        return self.frame.function.module

    def attribute(self, base: Known, word: str) -> Known:
        """``base.word`` for each alternative."""
        found: list[Known] = []
        impossible = 0
        for option in self.attempt(base):
            try:
                found.append(self.attribute_of(option, word))
            except Impossible:
                impossible += 1
        if impossible and not found:
            raise Impossible
        return choice(*found)

    def attribute_of(self, base: Known, word: str) -> Known:
        """The attribute of one alternative."""
        if isinstance(base, (Coupled, Unknown)):
            return base
        if isinstance(base, Held):
            return choice(*(self.attribute_of_object(value, word) for value in base.values))
        held = self.held(base)
        if isinstance(held, Record) and not held.family:
            entry = held.get(word)
            if entry is not None:
                return entry
        if isinstance(base, Constant) and base.value is None:
            raise Impossible
        found = self.library.attribute(self, base, word)
        return found if found is not None else Method(base, word)

    def attribute_of_object(self, value: Value, word: str) -> Known:
        """The attribute of an object of the script or of a library."""
        if isinstance(value, Instance):
            return self.attribute_of_instance(value, word)
        if isinstance(value, Super):
            return self.attribute_behind(value, word)
        if isinstance(value, External):
            return Held((External(f"{value.name}.{word}"),))
        if isinstance(value, ModuleValue):
            names = value.module.scope.names if value.module.scope is not None else {}
            if word in names:
                return self.lift(names[word])
            return self.unknown(f"'{word}' is not known in {value.module.name}")
        if isinstance(value, Class):
            for ancestor in value.ancestry():
                if isinstance(ancestor, Class) and word in ancestor.scope.names:
                    return self.lift(ancestor.scope.names[word])
            return PLAIN
        if isinstance(value, Opaque):
            if word in value.attributes:
                return self.lift(value.attributes[word])
            layer = origin(value)
            if self.library.is_layer(called_names(layer)):
                found = self.library.attribute(self, Held((layer,)), word)
                return found if found is not None else Method(Held((layer,)), word)
            if value.kind == "attribute" or not called_names(value):
                # Settings: ``self.config.hidden_size``.
                return Held(
                    (Opaque("attribute", value.node, value.module, word, operands=((value,),)),)
                )
        return Method(Held((value,)), word)

    def attribute_of_instance(self, value: Instance, word: str) -> Known:
        """An attribute of an object of a project class."""
        key = (id(value), word)
        if key in self.stored:
            return self.stored[key]
        if key in self.written or key in self.kept:
            self.read_before.add(key)
        alike = [name for name in value.attributes if may_be_one(name, word)]
        if alike:
            own = join(*(value.attributes[name] for name in alike))
            found = self.lift_state(own)
            return choice(found, self.kept[key]) if key in self.kept else found
        for ancestor in value.cls.ancestry():
            if isinstance(ancestor, Class) and word in ancestor.scope.names:
                return self.bound(ancestor.scope.names[word], value)
        tensors = kept_tensors(self.facts).get(key)
        if tensors is not None:
            return self.lift(tensors)
        if key in self.kept:
            return self.kept[key]
        layers = kept_layers(self.facts).get((id(value), word))
        if layers:
            return self.lift(layers)
        if word in PLAIN_ATTRIBUTES:
            return PLAIN
        return Method(Held((value,)), word)

    def lift_state(self, values: Values) -> Known:
        """What an attribute holds, but for what the followed code has put there itself."""
        others = tuple(value for value in values if not self.is_followed(value))
        return self.lift(others or values)

    def is_followed(self, value: Value) -> bool:
        """Whether a value was made by code that this run follows."""
        if not isinstance(value, Opaque) or not self.written:
            return False
        return any(
            self.inside(value.module, value.node, frame_function)
            for frame_function in self.functions.values()
        )

    def inside(self, module: Module, node: cst.CSTNode, function: Function) -> bool:
        """Whether a node is part of a function."""
        if module is not function.module:
            return False
        around = module.source.places.around
        current: cst.CSTNode | None = node
        while current is not None:
            if current is function.node:
                return True
            current = around.get(id(current))
        return False

    def bound(self, values: Values, receiver: Instance | Class) -> Known:
        """What is found on a class: functions as methods, properties called."""
        found: list[Known] = []
        for value in values:
            if not isinstance(value, Function):
                found.append(self.lift((value,)))
                continue
            words = {
                one.name
                for decorators in value.decorators
                for one in decorators
                if isinstance(one, External)
            }
            if "builtins.staticmethod" in words:
                found.append(Held((value,)))
            elif words & {"builtins.property", "functools.cached_property"}:
                found.append(self.call(Held((BoundMethod(receiver, value),)), Given()))
            elif "builtins.classmethod" in words and isinstance(receiver, Instance):
                found.append(Held((BoundMethod(receiver.cls, value),)))
            else:
                found.append(Held((BoundMethod(receiver, value),)))
        return choice(*found)

    def attribute_behind(self, value: Super, word: str) -> Known:
        """``super().word``."""
        receiver = value.receiver
        if not isinstance(receiver, Instance):
            return self.unknown(f"'super().{word}' is not known")
        ancestry = list(receiver.cls.ancestry())
        if value.behind in ancestry:
            ancestry = ancestry[ancestry.index(value.behind) + 1 :]
        for ancestor in ancestry:
            if isinstance(ancestor, Class) and word in ancestor.scope.names:
                return self.bound(ancestor.scope.names[word], receiver)
        return Method(Held((receiver,)), f"super().{word}")

    def certainly_there(self, held: Held) -> bool:
        """Whether objects are certainly not None."""
        return all(
            isinstance(value, (Instance, Function, Class, BoundMethod, External, Partial))
            or (isinstance(value, Opaque) and self.library.is_layer(called_names(origin(value))))
            for value in held.values
        )

    # What the facts know.

    def lift(self, values: Values) -> Known:
        """What the facts know of a value, in the terms of this run."""
        found = [self.lift_one(value) for value in values]
        return choice(*found) if found else PLAIN

    def lift_one(self, value: Value) -> Known:
        """The same for one alternative."""
        if isinstance(value, Constant):
            return Constant(value.value)
        if isinstance(value, UnknownFact):
            return Unknown(value.reason)
        if isinstance(value, (Sequence, Mapping, Opaque, Generator)):
            key = id(value)
            if key in self.lifted:
                return self.lifted[key]
            if key in self.lifting:
                return Held((value,))
            self.lifting.add(key)
            noise = self.noise
            try:
                found = made_before(self.lift_node(value))
            finally:
                self.lifting.discard(key)
                self.noise = noise
            self.lifted[key] = found
            return found
        return Held((value,))

    def lift_node(self, value: Sequence | Mapping | Opaque | Generator) -> Known:
        """The same for a container or a node of the value graph."""
        if isinstance(value, Generator):
            return Group((), self.lift(value.yields))
        if isinstance(value, Sequence):
            elements = tuple(self.lift(one) for one in value.elements)
            return Group(elements, self.lift(value.rest) if value.rest else None)
        if isinstance(value, Mapping):
            entries = tuple((key, self.lift(one.values)) for key, one in value.entries.items())
            rest = self.lift(value.rest) if value.rest else None
            return Record(entries, rest if rest is not None or not value.open_because else PLAIN)
        layer = origin(value)
        if isinstance(layer, Opaque) and self.library.is_layer(called_names(layer)):
            return Held((layer,))
        if isinstance(layer, Instance):
            return Held((layer,))
        self.sites.append((value.module, value.node))
        try:
            found = self.lift_opaque(value)
        except (Impossible, Mixed, Unclear):
            found = None
        finally:
            self.sites.pop()
        if found is None or isinstance(found, (Coupled, Unknown, Method)):
            return Held((value,))
        return found

    def lift_opaque(self, value: Opaque) -> Known | None:
        """What an operation outside the followed code has given, from the table of operations."""
        if value.kind == "operation":
            operands = tuple(self.lift(one) for one in value.operands)
            if value.name in ("Add", "Subtract", "Multiply", "Divide", "Power", "FloorDivide",
                              "Modulo", "Minus"):  # fmt: skip
                if len(operands) == 2:
                    return self.operate(value.name, *operands)
                return self.library.operator(self, value.name, operands)
            # ``self.shortcut = not same and nn.Conv2d(...)``: whatever of it is called.
            return choice(*operands) if value.name in ("And", "Or") else PLAIN
        if value.kind == "call":
            given = self.lifted_arguments(value.arguments)
            for name in called_names(value):
                return self.library.function(self, name, given)
            for word, receivers in method_calls(value):
                base = self.lift(receivers)
                if all(isinstance(one, Tensor) for one in options(base)):
                    return self.library.method(self, base, word, given)
            if any(isinstance(callee, Instance) for callee in value.callee) and value.inner:
                return self.lift(value.inner)
            return None
        if value.kind == "attribute":
            base = self.lift(value.operands[0])
            return self.attribute(base, value.name) if isinstance(base, Tensor) else None
        if value.kind == "item":
            base = self.lift(value.operands[0])
            if isinstance(base, (Group, Record)) and value.index:
                return self.library.item(self, base, (self.lift(value.index),))
        return None

    @abstractmethod
    def operate(self, word: str, left: Known, right: Known) -> Known:
        """An operator on two values."""

    def lifted_arguments(self, arguments: Arguments) -> Given:
        """The arguments of a call outside the followed code."""
        items = tuple(self.lift(one.values) for one in arguments.positional())
        if arguments.rest:
            items = (*items, self.lift(arguments.rest))
        keywords = {
            one.keyword: self.lift(one.values) for one in arguments.items if one.keyword is not None
        }
        return Given(items, keywords, arguments.unknown_because is not None)


def made_before(value: Known) -> Known:
    """A value that was made before the model is called: what was drawn is alike everywhere."""
    if isinstance(value, Tensor) and value.drawn:
        return Tensor(value.dims, value.places, mask=value.mask)
    if isinstance(value, Number) and value.drawn:
        return PLAIN
    return value
