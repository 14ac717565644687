"""Abstract values: what an expression of the script may stand for.

An expression evaluates to a tuple of alternatives (:data:`Values`), one for each way the script can
reach it. An alternative is a constant, something of the project (function, class, instance,
container), a name outside the project, or a node of the value graph: the result of a call, an
operator, an attribute or an element of something that cannot be analysed. Nodes of the graph
are made once for a place and a calling context, so loops give cycles and not endless chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Union

import libcst as cst

from transpile.facts.folding import Constant as Constant
from transpile.facts.folding import Settled as Settled
from transpile.facts.folding import WorldSize as WorldSize
from transpile.records import dataclass, field

if TYPE_CHECKING:
    from transpile.facts.events import Branch
    from transpile.facts.module import Module

#: More alternatives than this are no longer told apart.
MOST_ALTERNATIVES = 64
#: The same for those that a call may lead into; each is followed, with all that it calls.
MOST_FOLLOWED = 12
#: Alternatives that are compared with each other faster than by their hashes.
_FEW = 4


@dataclass(frozen=True)
class Unknown:
    """A value that the analysis cannot know, and why."""

    reason: str


@dataclass(frozen=True)
class External:
    """Something outside the project, by its canonical dotted name, for example ``torch.save``."""

    name: str


@dataclass(eq=False)
class Function:
    """A function, method or lambda of the project."""

    node: cst.FunctionDef | cst.Lambda
    module: Module
    name: str
    closure: Scope
    defaults: dict[str, Values]
    owner: Class | None = None
    decorators: tuple[Values, ...] = ()
    is_generator: bool = False
    attributes: dict[str, Values] = field(default_factory=dict)


@dataclass(eq=False)
class Class:
    """A class of the project."""

    node: cst.ClassDef
    module: Module
    name: str
    scope: Scope
    bases: tuple[Values, ...]
    is_dataclass: bool = False
    outside: tuple[str, ...] | None = None
    metaclass: Values = ()

    def ancestry(self) -> Iterator[Class | External | Unknown]:
        """The class itself, then its bases, depth first; a class met twice comes once."""
        seen: list[object] = []
        stack: list[Any] = [self]
        while stack:
            current = stack.pop(0)
            if current in seen:
                continue
            seen.append(current)
            if isinstance(current, (Class, External, Unknown)):
                yield current
            if isinstance(current, Class):
                stack[:0] = [base for bases in current.bases for base in bases]

    def metaclasses(self) -> list[Class]:
        """The metaclass of the project that makes it, its own or that of a base; else none."""
        for ancestor in self.ancestry():
            found = [one for one in getattr(ancestor, "metaclass", ()) if isinstance(one, Class)]
            if found:
                return found
        return []

    def external_bases(self) -> tuple[str, ...]:
        """The dotted names of the bases outside the project."""
        if self.outside is None:
            names = (base.name for base in self.ancestry() if isinstance(base, External))
            self.outside = tuple(names)
        return self.outside


@dataclass(eq=False)
class Instance:
    """An object of a class of the project, by the place and context that made it.

    Of its attributes, those in `computed` have names of which a part is not written: ``layer*``.
    """

    cls: Class
    node: cst.CSTNode
    module: Module
    attributes: dict[str, Values] = field(default_factory=dict)
    arguments: Arguments | None = None
    computed: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class BoundMethod:
    """A method of the project together with its receiver."""

    receiver: Value
    function: Function


@dataclass(eq=False)
class Sequence:
    """A list, tuple or set whose elements are known as far as `elements` goes.

    `rest` stands for elements of unknown position or number, such as those appended in a loop.
    Those of a named tuple are attributes, too, by their `names`. What they were `picked` by are
    the indexes and keys that took them out of other containers, where those are computed.
    """

    kind: str
    node: cst.CSTNode
    elements: list[Values]
    rest: Values = ()
    names: tuple[str, ...] = ()
    picked: Values = ()

    def every(self) -> Values:
        """All elements as alternatives of one value."""
        return join(*self.elements, self.rest)


@dataclass(eq=False)
class Entry:
    """One key of a mapping: its values, where they stand, and whether it may be absent."""

    values: Values
    node: cst.CSTNode | None
    module: Module | None
    maybe: bool = False


@dataclass(eq=False)
class Mapping:
    """A dict with the keys that are known, and the reason why others may be there.

    Of those, `computed` are what they may be, and `rest` is what is kept under them.

    With `makes_lists`, a list is put where a key is looked up that is not there, and what its
    `factory` gives where it has one. Of the attributes of an object, `owner` is that object.
    """

    node: cst.CSTNode
    module: Module
    branches: tuple[Branch, ...]
    entries: dict[object, Entry] = field(default_factory=dict)
    open_because: str | None = None
    rest: Values = ()
    makes_lists: bool = False
    factory: Values = ()
    computed: Values = ()
    uses: list[cst.CSTNode] = field(default_factory=list)
    owner: Value | None = None

    def every(self) -> Values:
        """All values as alternatives of one value."""
        return join(*(entry.values for entry in self.entries.values()), self.rest)


@dataclass(frozen=True)
class Argument:
    """One argument of a call.

    Args:
        values: what it may be.
        node: the expression; None for an entry of an unpacked mapping without a place.
        keyword: its keyword, None for a positional one.
        mapping: the mapping that it was unpacked from.
        maybe: it may be absent (a key set on one branch only).
    """

    values: Values
    node: cst.CSTNode | None
    keyword: str | None = None
    mapping: Mapping | None = None
    maybe: bool = False


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, unpackings resolved where they are known.

    `rest` stands for what is unpacked from something whose length or keys are not known.
    """

    items: tuple[Argument, ...] = ()
    unknown_because: str | None = None
    rest: Values = ()

    def positional(self) -> tuple[Argument, ...]:
        """Those without a keyword, in order."""
        return tuple(item for item in self.items if item.keyword is None)

    def keyword(self, name: str) -> Argument | None:
        """The argument with that keyword."""
        for item in self.items:
            if item.keyword == name:
                return item
        return None

    def get(self, name: str, position: int | None = None) -> Argument | None:
        """The argument by keyword, else by position."""
        found = self.keyword(name)
        if found is None and position is not None:
            ordered = self.positional()
            if position < len(ordered):
                found = ordered[position]
        return found


@dataclass(eq=False)
class Opaque:
    """A node of the value graph.

    Args:
        kind: ``call``, ``operation``, ``attribute``, ``item``, ``element``, ``parameter``, or
            ``filling``: what was copied into the whole of a tensor that was made before.
        node: where it stands.
        module: the module of `node`.
        name: attribute's name or operator's word.
        callee: what is called, for a call.
        arguments: of the call.
        operands: base of an attribute, item or element; operands of an operation.
        inner: for a call that was followed into the project's code, what that returned.
        attributes: attributes that the script itself has set on it.
        written: of a tensor that a known function has made, what is assigned to its items.
    """

    kind: str
    node: cst.CSTNode
    module: Module
    name: str = ""
    callee: Values = ()
    arguments: Arguments = Arguments()
    operands: tuple[Values, ...] = ()
    inner: Values = ()
    attributes: dict[str, Values] = field(default_factory=dict)
    index: Values = ()
    written: Values = ()
    cache: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Opaque({self.kind} {self.name})"


@dataclass(eq=False)
class Generator:
    """The result of calling a generator function: what it yields."""

    function: Function
    node: cst.CSTNode
    yields: Values = ()


@dataclass(eq=False)
class Partial:
    """``functools.partial``: arguments already given; ``partialmethod`` makes a method of it."""

    callee: Values
    arguments: Arguments
    node: cst.CSTNode
    is_method: bool = False


@dataclass(frozen=True)
class Super:
    """``super()`` within a method: looks names up behind a class."""

    receiver: Value
    behind: Class


Value = Union[
    Constant,
    Unknown,
    External,
    Function,
    Class,
    Instance,
    BoundMethod,
    Sequence,
    Mapping,
    Opaque,
    Generator,
    Partial,
    Super,
    "ModuleValue",
]
Values = tuple[Value, ...]
FOLLOWED = frozenset({Function, Class, Instance, BoundMethod, Partial})
_REST = Unknown("too many different values meet here")


@dataclass(eq=False)
class ModuleValue:
    """A module of the project as a value."""

    module: Module


@dataclass(eq=False)
class Scope:
    """Names bound in a module, class body, comprehension or call, and the scope around it."""

    names: dict[str, Values]
    parent: Scope | None
    module: Module
    is_class: bool = False
    is_comprehension: bool = False
    globals_declared: set[str] = field(default_factory=set)
    nonlocals_declared: set[str] = field(default_factory=set)


def join(*several: Iterable[Value]) -> Values:
    """The alternatives of all arguments, each once, in the order met."""
    if len(several) == 2:
        # Most often one value meets itself, or nothing.
        old, new = several
        if type(old) is tuple and type(new) is tuple and len(old) <= 1 >= len(new):
            return (old if not new or old == new else (*old, *new)) if old else new
    kept: list[Value] = []
    # Many are told apart by their hashes: comparing each with each would take too long.
    seen: dict[Value, None] | None = None
    for values in several:
        for value in values:
            if seen is not None:
                seen[value] = None
            elif value not in kept:
                kept.append(value)
                if len(kept) == _FEW:
                    seen = dict.fromkeys(kept)
    if seen is not None:
        kept = list(seen)
    if len(kept) <= MOST_FOLLOWED:
        return tuple(kept)
    first = several[0]
    if type(first) is tuple and len(first) == len(kept) and first[-1] is _REST:
        # Nothing has come to what was told apart already.
        return first
    return told_apart(kept)


def told_apart(values: list[Value]) -> Values:
    """The first of many alternatives; what is left out is unknown.

    Of each kind the first are kept, so that they are the same however the rest comes in.
    """
    kept: list[Value] = []
    followed, others = MOST_FOLLOWED, MOST_ALTERNATIVES
    for value in values:
        if type(value) in FOLLOWED:
            if not followed:
                continue
            followed -= 1
        else:
            if not others:
                continue
            others -= 1
        kept.append(value)
    return tuple(kept) if len(kept) == len(values) or _REST in kept else (*kept, _REST)


def only_constant(values: Values) -> Constant | None:
    """The constant that the values are, where they are exactly one constant."""
    if len(values) == 1:
        return values[0] if isinstance(values[0], Constant) else None
    return settled_constant(values)


def settled_constant(values: Values) -> Settled | None:
    """The one settled constant among several alternatives."""
    found = {value for value in values if type(value) is Settled}
    return found.pop() if len(found) == 1 else None
