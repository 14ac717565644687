"""Objects whose classes do little more than name what they hold.

Data classes and named tuples have initialisers that are generated, and namespaces take what they
are given by name. What such an object holds is what was put into it.
"""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.arguments_changed import ArgumentsChanged
from transpile.facts.inherited import ITEMS
from transpile.facts.values import (
    Argument,
    Arguments,
    Class,
    Constant,
    External,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
    only_constant,
)
from transpile.records import dataclass

#: What makes the class of a named tuple from its name and those of its fields.
NAMED_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
NAMED_TUPLE = "typing.NamedTuple"
#: What makes a changed copy of a data class's object.
REPLACE = frozenset({"dataclasses.replace", "copy.replace"})
#: Objects that have the attributes they are given by name, and no others.
NAMESPACE = "types.SimpleNamespace"


@dataclass(frozen=True, eq=False)
class Field:
    """A field of a data class or named tuple.

    Args:
        name: its name.
        default: what it is where nothing is given; empty where something must be.
        factory: what makes that.
        given: whether it is an argument of the initialiser.
        by_position: whether it may be one without a keyword.
        kept: whether it becomes an attribute.
    """

    name: str
    default: Values = ()
    factory: Values = ()
    given: bool = True
    by_position: bool = True
    kept: bool = True


class Fields(ArgumentsChanged):
    """The part of the interpreter that knows generated initialisers."""

    def fill_fields(self, instance: Instance, arguments: Arguments, node: cst.CSTNode) -> None:
        """The generated initialiser of a data class or named tuple."""
        fields = fields_of(instance.cls)
        given = [field for field in fields if field.given and field.by_position]
        positions = {field.name: place for place, field in enumerate(given)}
        handed_on: list[Argument] = []
        for field in fields:
            argument = None
            if field.given:
                argument = arguments.get(field.name, positions.get(field.name))
            values = argument.values if argument is not None else field.default
            if argument is None and field.factory:
                values = self.invoke(field.factory, Arguments(), node)
            if argument is None and arguments.unknown_because:
                values = ()
            if not field.kept:
                handed_on.append(Argument(values, None))
            elif values:
                self.set_attribute(instance.attributes, field.name, values, False)
        if is_named_tuple(instance.cls):
            self.give_elements(instance, [field.name for field in fields], node)
        behind = self.class_attribute(instance.cls, "__post_init__", instance, instance.cls, node)
        if behind is not None:
            self.invoke(behind, Arguments(tuple(handed_on)), node)

    def give_elements(self, instance: Instance, names: list[str], node: cst.CSTNode) -> None:
        """Let an object of a named tuple's class be a tuple of what it holds."""
        if any(name not in instance.attributes for name in names):
            return
        elements = [instance.attributes[name] for name in names]
        instance.attributes[ITEMS] = (self.made_tuple(node, elements, tuple(names)),)

    def made_tuple(
        self, node: cst.CSTNode, elements: list[Values], names: tuple[str, ...]
    ) -> Sequence:
        """The tuple that is made at this place, of whatever is put into it there."""
        key = ("named tuple", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence) or made.names != names:
            made = Sequence("tuple", node, elements, names=names)
            self.nodes[key] = made
            return made
        joined = [join(old, new) for old, new in zip(made.elements, elements, strict=True)]
        if joined != made.elements:
            made.elements = joined
            self.heap_version += 1
        return made

    def named_tuple(self, callee: Opaque, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """The tuple that a call of ``namedtuple(...)`` makes; None where it is not known."""
        fields = tuple_fields(callee)
        if not fields or arguments.unknown_because:
            return None
        elements: list[Values] = []
        for position, field in enumerate(fields):
            argument = arguments.get(field.name, position)
            values = argument.values if argument is not None else field.default
            if not values:
                return None
            elements.append(values)
        return (self.made_tuple(node, elements, tuple(field.name for field in fields)),)

    def changed_copy(self, arguments: Arguments, node: cst.CSTNode) -> Values | None:
        """What ``dataclasses.replace(object, **changes)`` gives; None where it is not known."""
        first, *changes = arguments.items or (None,)
        if first is None or len(first.values) != 1 or arguments.unknown_because:
            return None
        (old,) = first.values
        if not isinstance(old, Instance):
            return None
        return self.made_anew(old, changes, node)

    def made_anew(self, old: Instance, changes: list[Argument], node: cst.CSTNode) -> Values:
        """Another object of the same class that holds the same but for some changes."""
        changed = {change.keyword for change in changes}
        kept = [
            Argument(old.attributes[field.name], None, field.name)
            for field in fields_of(old.cls)
            if field.given and field.name in old.attributes and field.name not in changed
        ]
        return self.invoke((old.cls,), Arguments((*kept, *changes)), node)

    def attribute_of(self, value: Value, name: str, node: cst.CSTNode) -> Values:
        """An attribute, those of named tuples and namespaces included."""
        if isinstance(value, Sequence) and name in value.names:
            return value.elements[value.names.index(name)]
        if isinstance(value, Opaque) and name in value.attributes and is_namespace(value):
            return value.attributes[name]
        return super().attribute_of(value, name, node)

    def sequence_method(
        self, sequence: Sequence, name: str, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """The methods of a list or tuple, named tuples included."""
        if not sequence.names or arguments.unknown_because:
            return super().sequence_method(sequence, name, arguments, node)
        if name == "_replace":
            given = {item.keyword: item.values for item in arguments.items}
            pairs = zip(sequence.names, sequence.elements, strict=True)
            elements = [given.get(field, values) for field, values in pairs]
            return (self.made_tuple(node, elements, sequence.names),)
        if name == "_asdict":
            mapping = self.new_mapping(node)
            for field, values in zip(sequence.names, sequence.elements, strict=True):
                self.store_item(mapping, (Constant(field),), values, None)
            return (mapping,)
        return super().sequence_method(sequence, name, arguments, node)

    def call_container_method(
        self, callee: Opaque, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """The methods that named tuples of the project's classes have from their base."""
        receivers = callee.operands[0] if callee.operands else ()
        if callee.kind == "attribute" and callee.name == "_replace" and len(receivers) == 1:
            (receiver,) = receivers
            if isinstance(receiver, Instance) and is_named_tuple(receiver.cls):
                if not arguments.unknown_because:
                    return self.made_anew(receiver, list(arguments.items), node)
        return super().call_container_method(callee, arguments, node)

    def take_named(self, made: Opaque, arguments: Arguments) -> None:
        """Let a namespace have what it is given by name."""
        for item in arguments.items:
            if item.keyword is not None and not item.maybe:
                self.set_attribute(made.attributes, item.keyword, item.values, False)


def has_fields(cls: Class) -> bool:
    """Whether a class without an initialiser of its own has a generated one."""
    return is_named_tuple(cls) or any(
        isinstance(one, Class) and one.is_dataclass for one in cls.ancestry()
    )


def is_named_tuple(cls: Class) -> bool:
    """Whether objects of a class are tuples whose elements have names."""
    return NAMED_TUPLE in cls.external_bases() or base_tuple(cls) is not None


def base_tuple(cls: Class) -> Opaque | None:
    """The ``namedtuple(...)`` that a class of the project is derived from."""
    for ancestor in cls.ancestry():
        for base in ancestor.bases if isinstance(ancestor, Class) else ():
            for value in base:
                if isinstance(value, Opaque) and tuple_fields(value):
                    return value
    return None


def is_namespace(value: Opaque) -> bool:
    """Whether something is an object that has what the script gives it, and no more."""
    return value.kind == "call" and value.callee == (External(NAMESPACE),)


def fields_of(cls: Class) -> list[Field]:
    """The fields of a data class or named tuple, those of its bases first."""
    base = base_tuple(cls)
    found = {field.name: field for field in (tuple_fields(base) if base is not None else ())}
    for ancestor in reversed([one for one in cls.ancestry() if isinstance(one, Class)]):
        if ancestor.is_dataclass or NAMED_TUPLE in ancestor.external_bases():
            found.update((field.name, field) for field in own_fields(ancestor))
    return list(found.values())


def own_fields(cls: Class) -> list[Field]:
    """The fields that a class itself has, in order."""
    found: list[Field] = []
    by_position = True
    for line in cls.node.body.body:
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if not isinstance(small, cst.AnnAssign) or not isinstance(small.target, cst.Name):
                continue
            words = annotation_words(small.annotation.annotation)
            if "KW_ONLY" in words:
                by_position = False
            elif "ClassVar" not in words:
                default = cls.scope.names.get(small.target.value, ()) if small.value else ()
                kept = "InitVar" not in words
                found.append(read_field(small.target.value, default, by_position, kept))
    return found


def read_field(name: str, default: Values, by_position: bool, kept: bool) -> Field:
    """A field as its class describes it."""
    described = default[0] if len(default) == 1 else None
    if not isinstance(described, Opaque) or described.callee != (External("dataclasses.field"),):
        return Field(name, default, (), True, by_position, kept)
    options = {item.keyword: item.values for item in described.arguments.items}
    given = options.get("init", ()) != (Constant(False),)
    positional = by_position and options.get("kw_only", ()) != (Constant(True),)
    factory = options.get("default_factory", ())
    return Field(name, options.get("default", ()), factory, given, positional, kept)


def annotation_words(annotation: cst.CSTNode) -> set[str]:
    """The names by which an annotation may say that something is no plain field."""
    outer = annotation.value if isinstance(annotation, cst.Subscript) else annotation
    if isinstance(outer, cst.Attribute):
        return {outer.attr.value}
    if isinstance(outer, cst.SimpleString):
        return set(outer.value.strip("\"'").replace("[", ".").split("."))
    return {outer.value} if isinstance(outer, cst.Name) else set()


def tuple_fields(made: Value) -> list[Field]:
    """The fields of what ``namedtuple(name, fields)`` makes; none where they are not known."""
    if not isinstance(made, Opaque) or made.kind != "call" or made.arguments.unknown_because:
        return []
    if len(made.callee) != 1 or getattr(made.callee[0], "name", "") not in NAMED_TUPLES:
        return []
    described = made.arguments.get("field_names", 1) or made.arguments.get("fields", 1)
    names = field_names(described.values) if described is not None else []
    defaults = made.arguments.get("defaults", None)
    known = defaults.values[0] if defaults is not None and len(defaults.values) == 1 else None
    if made.arguments.get("rename", None) is not None:
        return []
    if defaults is None:
        return [Field(name) for name in names]
    if not isinstance(known, Sequence) or known.rest or len(known.elements) > len(names):
        return []
    without = len(names) - len(known.elements)
    values: list[Values] = [*[()] * without, *known.elements]
    return [Field(name, value) for name, value in zip(names, values, strict=True)]


def field_names(values: Values) -> list[str]:
    """The names of fields, written as one text or as a list of names or of pairs."""
    written = only_constant(values)
    if written is not None and isinstance(written.value, str):
        return written.value.replace(",", " ").split()
    if len(values) != 1 or not isinstance(values[0], Sequence) or values[0].rest:
        return []
    found = [field_name(element) for element in values[0].elements]
    return [name for name in found if name] if all(found) else []


def field_name(values: Values) -> str:
    """The name of a field, alone or in a pair with its type; empty where it is not known."""
    constant = only_constant(values)
    if constant is not None:
        return constant.value if isinstance(constant.value, str) else ""
    if len(values) == 1 and isinstance(values[0], Sequence) and values[0].elements:
        return field_name(values[0].elements[0])
    return ""
