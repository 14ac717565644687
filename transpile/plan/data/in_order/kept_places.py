"""What outlives the drawing of a sample: attributes of objects, global names, containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.values import (
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Scope,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import Reads, body_of
from transpile.plan.data.in_order.sampling import declared, names_in, target_of
from transpile.plan.data.varying_rows import samples_of
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass

#: Methods that give an entry of a container.
ENTRIES = frozenset({"get", "setdefault"})
#: What binds names within a function.
BINDING = (cst.AssignTarget, cst.CompFor, cst.For, cst.AsName, cst.NamedExpr)


@dataclass(frozen=True)
class Place:
    """Something that outlives a call.

    Args:
        word: the name of an attribute or of a global; none for what an object itself holds.
        owners: the identities of the objects and classes, or of the module, that it belongs to.
        held: those of the containers that may be there.
    """

    word: str
    owners: frozenset[int]
    held: frozenset[int] = frozenset()

    def meets(self, other: Place) -> bool:
        """Whether two of them may be the same."""
        if self.held & other.held:
            return True
        return self.word == other.word and bool(self.owners & other.owners)


@dataclass(frozen=True, eq=False)
class Kept:
    """An expression that stands for a place, or for an entry of it.

    Args:
        place: the place.
        keys: the keys of the entry, outermost first.
    """

    place: Place
    keys: tuple[cst.BaseExpression, ...] = ()

    def differs(self, other: Kept) -> bool:
        """Whether two entries of one place are certainly different ones: fixed names differ."""
        ours, theirs = fixed_key(self.keys), fixed_key(other.keys)
        return ours is not None and theirs is not None and not ours.deep_equals(theirs)


def fixed_key(keys: tuple[cst.BaseExpression, ...]) -> cst.SimpleString | None:
    """The last key where it is a text."""
    return keys[-1] if keys and isinstance(keys[-1], cst.SimpleString) else None


class Places:
    """The places that the expressions of some code stand for.

    Args:
        plan: the plan.
        reads: the code.
        roots: the functions of it that a loader calls.
    """

    def __init__(self, plan: Plan, reads: Reads, roots: Iterable[Function]) -> None:
        self.plan = plan
        self.roots = {id(function.node) for function in roots}
        self.reads = reads
        self.inside = {id(node) for _, node in reads.nodes}
        self.names: dict[int, Names] = {}

    def names_of(self, function: Function) -> Names:
        """What the names of a function are bound to."""
        found = self.names.get(id(function.node))
        if found is None:
            found = self.names[id(function.node)] = Names(function)
        return found

    def of(self, function: Function, node: cst.CSTNode, depth: int = 8) -> Kept | None:
        """The place that an expression stands for, with its keys; None for what is of a call."""
        if not depth:
            return None
        if isinstance(node, cst.Subscript):
            kept = self.of(function, node.value, depth - 1)
            return kept and Kept(kept.place, (*kept.keys, *keys_of(node)))
        if isinstance(node, cst.Call):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in ENTRIES:
                kept = self.of(function, node.func.value, depth - 1)
                keys = tuple(argument.value for argument in node.args[:1])
                return kept and Kept(kept.place, (*kept.keys, *keys))
            return None
        values = self.plan.facts.values_of(node)
        if isinstance(node, cst.Attribute):
            return self.attribute(function, node, values, depth)
        if not isinstance(node, cst.Name):
            return None
        if any(isinstance(value, (External, ModuleValue, Class, Function)) for value in values):
            return None
        names = self.names_of(function)
        if node.value in names.inner:
            return None
        if node.value not in names.bound and node.value not in names.parameters:
            made_here = not any(self.is_outside(v) or not containers((v,)) for v in values)
            if values and made_here and is_of_function(function, node.value):
                return None
            owners = frozenset((id(function.module),))
            return Kept(Place(node.value, owners, containers(values)))
        if node.value in names.parameters:
            outside = tuple(value for value in values if self.is_outside(value))
            if id(function.node) in self.roots and node.value in samples_of(function):
                # The samples themselves are a list.
                outside = tuple(v for v in outside if isinstance(v, (Mapping, Instance)))
            held = containers(outside)
            return Kept(Place("", held, held)) if held else None
        bound = names.bound[node.value]
        return self.of(function, bound[0], depth - 1) if len(bound) == 1 and bound[0] else None

    def attribute(
        self, function: Function, node: cst.Attribute, values: Values, depth: int
    ) -> Kept | None:
        """The place of an attribute, where what has it outlives the call."""
        owners: set[int] = set()
        having = self.plan.facts.values_of(node.value)
        if not having and function.owner is not None and is_first(function, node.value):
            owners.add(id(function.owner))
        # Of a class whose methods nothing in sight calls, an object is only supposed.
        real = [
            one
            for one in having
            if not (isinstance(one, Instance) and isinstance(one.node, cst.ClassDef))
        ]
        for owner in real or having:
            owners.update(map(id, classes_of(owner)))
            if isinstance(owner, Instance) and self.is_outside(owner):
                owners.add(id(owner))
                owners.update(id(one) for one in owner.cls.ancestry() if isinstance(one, Class))
        if any(isinstance(value, (BoundMethod, Function, ModuleValue)) for value in values):
            return None
        if owners:
            return Kept(Place(node.attr.value, frozenset(owners), containers(values)))
        behind = self.of(function, node.value, depth - 1)
        if behind is None or not behind.place.word:
            return None
        return Kept(Place(f"{behind.place.word}.{node.attr.value}", behind.place.owners))

    def written(self, function: Function, target: cst.CSTNode) -> Place | None:
        """The place of which a statement writes the whole, under its name alone."""
        if isinstance(target, cst.Name):
            own = target.value in declared(function)
            return Place(target.value, frozenset((id(function.module),))) if own else None
        kept = self.of(function, target) if isinstance(target, cst.Attribute) else None
        if kept is None or kept.keys or not kept.place.word:
            return None
        return Place(kept.place.word, kept.place.owners)

    def parent(self, function: Function, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around one of a function's."""
        return function.module.source.parent(node)

    def is_outside(self, value: Value) -> bool:
        """Whether a value is not made while a sample is drawn."""
        if isinstance(value, (Instance, Mapping, Sequence)):
            return id(value.node) not in self.inside
        return isinstance(value, Opaque) and value.kind == "call" and self.is_made_before(value)

    def is_made_before(self, value: Opaque) -> bool:
        """Whether a call stands outside of the code."""
        return id(value.node) not in self.inside


def classes_of(value: Value) -> Iterator[Class]:
    """The classes that a value stands for, as ``type(self)`` does for that of an object."""
    if isinstance(value, Class):
        yield value
    elif isinstance(value, Opaque):
        given: Values = ()
        if "builtins.type" in called_names(value) and value.arguments.items:
            given = value.arguments.items[0].values
        elif value.kind == "attribute" and value.name == "__class__":
            given = value.operands[0]
        yield from (one.cls for one in given if isinstance(one, Instance))


class Names:
    """What the names of one function are bound to.

    Args:
        function: the function.
    """

    def __init__(self, function: Function) -> None:
        #: The expressions by name; None where a name is bound to a part of something.
        self.bound: dict[str, list[cst.BaseExpression | None]] = {}
        #: What the names are made of: all of what is taken apart.
        self.made_of: dict[str, list[cst.BaseExpression]] = {}
        #: Those that are computed from what they were.
        self.changed: set[str] = set()
        parameters = function.node.params
        self.parameters = {
            each.name.value
            for each in (
                *parameters.posonly_params, *parameters.params, *parameters.kwonly_params,
                *(p for p in (parameters.star_arg, parameters.star_kwarg)
                  if isinstance(p, cst.Param)),
            )
        }  # fmt: skip
        #: The parameters of functions within.
        self.inner = {
            parameter.name.value
            for part in body_of(function)
            if isinstance(part, cst.Parameters)
            for parameter in part.params
        } - self.parameters
        outer = declared(function)
        for part in body_of(function):
            for target, value, whole in bindings(part):
                for name in names_in(target):
                    if name.value in outer:
                        continue
                    operates = isinstance(part, cst.AugAssign)
                    if operates or reads_itself(value, name.value):
                        self.changed.add(name.value)
                    self.made_of.setdefault(name.value, []).append(value)
                    given = value if whole and target is name else None
                    if not operates:
                        # An operator changes an array in its place.
                        self.bound.setdefault(name.value, []).append(given)


def is_of_function(function: Function, name: str) -> bool:
    """Whether a name of around a function is one of another function's."""
    scope: Scope | None = function.closure
    while scope is not None and scope.parent is not None:
        if name in scope.names and not scope.is_class:
            return True
        scope = scope.parent
    return False


def is_first(function: Function, node: cst.CSTNode) -> bool:
    """Whether an expression is what a method belongs to."""
    if function.owner is None:
        return False
    first = next(iter(function.node.params.params), None)
    return isinstance(node, cst.Name) and first is not None and first.name.value == node.value


def reads_itself(value: cst.BaseExpression, name: str) -> bool:
    """Whether the value of a name is computed from it."""
    return any(part.value == name for part in names_within(value))


def bindings(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, bool]]:
    """The targets that a node binds, what to, and whether to the whole of it."""
    if isinstance(node, cst.Assign):
        for each in node.targets:
            yield from paired(each.target, node.value)
    elif isinstance(node, cst.AnnAssign) and node.value is not None:
        yield node.target, node.value, True
    elif isinstance(node, cst.AugAssign):
        yield node.target, node.value, False
    elif isinstance(node, cst.NamedExpr):
        yield node.target, node.value, True
    elif isinstance(node, (cst.For, cst.CompFor)):
        yield node.target, node.iter, False
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield target_of(node.asname), node.item, False


def paired(
    target: cst.BaseExpression, value: cst.BaseExpression
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression, bool]]:
    """A target with its value, element by element where both are written out."""
    if isinstance(target, (cst.Tuple, cst.List)):
        elements = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
        starred = any(isinstance(one, cst.StarredElement) for one in (*target.elements, *elements))
        if len(elements) == len(target.elements) and not starred:
            for one, other in zip(target.elements, elements, strict=True):
                yield from paired(one.value, other.value)
        else:
            for one in target.elements:
                yield one.value, value, False
        return
    yield target, value, True


def containers(values: Values) -> frozenset[int]:
    """The identities of the values that something can be put into."""
    return frozenset(
        id(value)
        for value in values
        if isinstance(value, (Mapping, Sequence, Instance))
        or (isinstance(value, Opaque) and value.kind == "call")
    )


def keys_of(node: cst.Subscript) -> tuple[cst.BaseExpression, ...]:
    """The keys of an entry; of slices, their bounds."""
    found: list[cst.BaseExpression] = []
    for element in node.slice:
        part = element.slice
        if isinstance(part, cst.Index):
            found.append(part.value)
        elif isinstance(part, cst.Slice):
            found.extend(bound for bound in (part.lower, part.upper) if bound is not None)
    return tuple(found)


def names_within(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that an expression reads, without those that it binds itself."""
    own = {
        name.value
        for part in descendants(node)
        if isinstance(part, (cst.CompFor, cst.NamedExpr))
        for name in names_in(part.target)
    }
    own.update(
        parameter.name.value for part in descendants(node) if isinstance(part, cst.Lambda)
        for parameter in part.params.params
    )  # fmt: skip
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Name):
            if part.value not in own:
                yield part
        elif isinstance(part, cst.Attribute):
            pending.append(part.value)
        elif isinstance(part, cst.Arg):
            pending.append(part.value)
        else:
            pending.extend(part.children)
