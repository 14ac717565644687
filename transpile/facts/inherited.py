"""What objects of the project have from a container that their class is derived from."""

from __future__ import annotations

from collections import Counter

import libcst as cst

from transpile.facts.calls.started import starting_base
from transpile.facts.events import Event
from transpile.facts.expressions.descriptors import TRUTH
from transpile.facts.expressions.held_parts import HeldParts
from transpile.facts.values import (
    Arguments,
    Class,
    Entry,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Super,
    Value,
    Values,
    join,
)

#: The attribute under which an object keeps its items; no script can write such a name.
ITEMS = "items of itself"
#: Containers that a class may be derived from, and the builtin whose methods they have.
BASES: dict[str, type] = {
    "builtins.dict": dict,
    "collections.OrderedDict": dict,
    "collections.UserDict": dict,
    "collections.defaultdict": dict,
    "collections.Counter": Counter,
    "builtins.list": list,
    "builtins.set": set,
    "collections.UserList": list,
    "collections.deque": list,
}
#: Methods of containers that are no methods of the builtin they are modelled by.
OTHERS = frozenset({"appendleft", "popleft", "extendleft", "rotate", "move_to_end"})


class Inherited(HeldParts):
    """The part of the interpreter that knows what is inherited from containers."""

    def give_items(self, made: Instance, arguments: Arguments, node: cst.CSTNode) -> None:
        """Let an object have items where its class is derived from a container."""
        bases = [base for base in made.cls.external_bases() if base in BASES]
        if not bases:
            return
        if not self.items_of(made):
            made.attributes[ITEMS] = (self.empty(bases[0], node),)
            self.heap_version += 1
        if not self.has_own(made, "__init__"):
            self.invoke(self.inherited_method(made, "__init__", node), arguments, node)

    def empty(self, base: str, node: cst.CSTNode) -> Value:
        """The container that an object of a class derived from `base` is before it is filled."""
        if BASES[base] is Counter:
            callee = (External(base),)
            return self.opaque("call", node, callee=callee, arguments=Arguments())
        if BASES[base] is dict:
            return Mapping(node, self.module, self.branches())
        return Sequence(BASES[base].__name__, node, [])

    def items_of(self, value: Value) -> Values:
        """The container that an object is itself, as one value; none for other objects."""
        return value.attributes.get(ITEMS, ()) if isinstance(value, Instance) else ()

    def inherited_method(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """A method that an object has from the container it is derived from."""
        for one in self.items_of(value):
            kind: type = Counter if isinstance(one, Opaque) else dict
            if isinstance(one, Sequence):
                kind = set if one.kind == "set" else list
            special = name == "__init__" or name in OTHERS
            if special or (hasattr(kind, name) and not hasattr(object, name)):
                return self.attribute_of(one, name, node)
        return ()

    def instance_attribute(self, value: Instance, name: str, node: cst.CSTNode) -> Values:
        """An attribute of an object, those of the container included that it is derived from."""
        if name == "__dict__" and name not in value.attributes:
            return (self.attributes_of(value, node),)
        own = name in value.attributes or self.has_own(value, name)
        inherited = () if own else self.inherited_method(value, name, node)
        return inherited or super().instance_attribute(value, name, node)

    def attributes_of(self, value: Instance, node: cst.CSTNode) -> Mapping:
        """The attributes of an object as a dict, as they are now."""
        key = ("attributes", id(value), id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Mapping):
            made = Mapping(
                node, self.module, self.branches(), open_because="others may be set", owner=value
            )
            self.nodes[key] = made
        for name, values in value.attributes.items():
            if name != ITEMS:
                made.entries[name] = Entry(values, None, None)
        return made

    def has_own(self, value: Instance, name: str) -> bool:
        """Whether a class of the project defines a name for an object."""
        return any(
            name in ancestor.scope.names
            for ancestor in value.cls.ancestry()
            if isinstance(ancestor, Class)
        )

    def super_attribute(self, value: Super, name: str, node: cst.CSTNode) -> Values:
        """``super().name``: also what stands behind all classes of the project."""
        found = super().super_attribute(value, name, node)
        if len(found) == 1 and isinstance(found[0], External):
            if name == "start" and starting_base(value.receiver):
                return (self.opaque("attribute", node, name, operands=((value.receiver,),)),)
            return self.inherited_method(value.receiver, name, node) or found
        return found

    def record(
        self,
        kind: str,
        node: cst.CSTNode,
        callee: Values,
        arguments: Arguments | None = None,
        result: Values = (),
        name: str = "",
    ) -> Event:
        """Note that something happens here; an object that is tested is asked for its truth."""
        for value in callee if kind == "test" else ():
            callee = join(callee, self.ask_first(value, TRUTH, (), node) or ())
        return super().record(kind, node, callee, arguments, result, name)

    def update_mapping(self, mapping: Mapping, values: Values) -> None:
        """``mapping.update(values)``, also with objects that are dicts."""
        super().update_mapping(mapping, self.as_containers(values, "keys"))

    def item(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """An element, also of objects that are containers and say nothing else of it."""
        return super().item(self.as_containers(base, "__getitem__"), index, node)

    def elements_of(self, value: Value, node: cst.CSTNode) -> Values:
        """What iterating gives, also over objects that are containers."""
        held, *_ = self.as_containers((value,), "__iter__")
        return super().elements_of(held, node)

    def as_containers(self, values: Values, method: str) -> Values:
        """The items in place of objects that have a method from a container."""
        if not any(isinstance(value, Instance) for value in values):
            return values
        found: list[Value] = []
        for value in values:
            held = self.items_of(value)
            if held and isinstance(value, Instance) and not self.has_own(value, method):
                found.extend(held)
            else:
                found.append(value)
        return tuple(found)
