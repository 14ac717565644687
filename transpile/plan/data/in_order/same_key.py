"""What is kept under a key and is the same whenever that key comes: caches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Function
from transpile.facts.walk import children, descendants
from transpile.plan.data.in_order.kept_places import Kept, Places, is_first, names_within
from transpile.plan.data.in_order.sampling import names_in
from transpile.plan.data.in_order.writes import Write
from transpile.plan.flow.places import ancestors

#: Functions whose results differ where what they are given does.
TELLING_APART = frozenset({"int", "str", "repr", "hash", "tuple", "float"})
#: The same for methods.
TELLING_METHODS = frozenset({"item", "tobytes", "tolist", "as_posix", "resolve"})
KEPT = (cst.Name, cst.Attribute, cst.Subscript, cst.Call)


class Made:
    """What the value of a write is made of.

    Args:
        places: the places of the code.
        write: the write.
        keys: the expressions that may say what is written.
    """

    def __init__(self, places: Places, write: Write, keys: tuple[cst.BaseExpression, ...]) -> None:
        self.places = places
        self.write = write
        self.keys = keys
        self.names = {name.value for key in keys if tells_apart(key) for name in names_within(key)}
        #: Whether a key is part of it.
        self.of_keys = False
        #: Whether it depends on anything else of the sample.
        self.of_sample = False
        #: Whether it is computed from what was there.
        self.of_itself = False
        self.seen: set[tuple[str, bool]] = set()

    def follow(self, node: cst.CSTNode, bare: bool = True) -> None:
        """Follow what an expression is made of; `bare` where it is what is kept itself."""
        function = self.write.function
        if any(key.deep_equals(node) for key in self.keys):
            self.of_keys = True
            return
        kept = self.places.of(function, node) if isinstance(node, KEPT) else None
        if kept is not None and not isinstance(node, cst.Name) and self.itself(kept):
            if not bare or not alike(kept, self.write.kept):
                self.of_itself = True
            return
        if kept is not None and kept.place.meets(self.write.kept.place):
            for key in kept.keys:
                self.follow(key, bare=False)
            return
        if isinstance(node, cst.Name):
            self.name(function, node, kept, bare)
        elif isinstance(node, cst.Attribute):
            self.follow(node.value, bare=False)
        elif isinstance(node, cst.BooleanOperation):
            self.follow(node.left, bare)
            self.follow(node.right, bare)
        elif isinstance(node, cst.IfExp):
            self.follow(node.body, bare)
            self.follow(node.orelse, bare)
            self.under(node.test)
        elif not isinstance(node, (cst.CompFor, cst.Param)):
            inside = names_within(node) if has_own_names(node) else ()
            for name in inside:
                self.follow(name, bare=False)
            if not has_own_names(node):
                for child in children(node):
                    if not (isinstance(node, cst.Arg) and child is node.keyword):
                        self.follow(child, bare=False)

    def under(self, test: cst.BaseExpression) -> None:
        """Follow a condition, which may ask for what was there."""
        was = self.of_itself
        self.follow(test, bare=False)
        self.of_itself = was

    @property
    def of_others(self) -> bool:
        """Whether it depends on anything but the keys."""
        return self.of_sample or self.of_itself

    def name(self, function: Function, node: cst.Name, kept: Kept | None, bare: bool) -> None:
        """Follow what a name is bound to."""
        names = self.places.names_of(function)
        if node.value in self.names:
            self.of_keys = True
        elif node.value in names.made_of:
            bare = bare and node.value not in names.changed
            if (node.value, bare) not in self.seen:
                self.seen.add((node.value, bare))
                whole = {id(one) for one in names.bound.get(node.value, ())}
                for value in names.made_of[node.value]:
                    self.follow(value, bare and id(value) in whole)
        elif kept is not None and self.itself(kept):
            self.of_itself = self.of_itself or not bare or bool(self.write.kept.keys)
        elif node.value in names.parameters and not is_first(function, node):
            self.of_sample = self.of_sample or kept is None
        elif node.value in names.inner:
            self.of_sample = True

    def itself(self, kept: Kept) -> bool:
        """Whether an expression reads what is written."""
        return kept.place.meets(self.write.kept.place) and not kept.differs(self.write.kept)


def has_own_names(node: cst.CSTNode) -> bool:
    """Whether an expression binds names for itself alone."""
    return isinstance(node, (cst.BaseComp, cst.Lambda))


def alike(one: Kept, other: Kept) -> bool:
    """Whether two expressions stand for the same entry."""
    return len(one.keys) == len(other.keys) and all(
        ours.deep_equals(theirs) for ours, theirs in zip(one.keys, other.keys, strict=True)
    )


def tells_apart(key: cst.BaseExpression) -> bool:
    """Whether a key differs wherever one of its names does."""
    if isinstance(key, cst.Tuple):
        return all(tells_apart(element.value) for element in key.elements)
    if isinstance(key, cst.FormattedString):
        return True
    if isinstance(key, cst.Call):
        if isinstance(key.func, cst.Name) and key.func.value in TELLING_APART:
            return all(tells_apart(argument.value) for argument in key.args)
        if isinstance(key.func, cst.Attribute) and key.func.attr.value in TELLING_METHODS:
            return tells_apart(key.func.value)
    return isinstance(key, cst.Name)


def is_by_key(places: Places, write: Write) -> bool:
    """Whether a write puts under a key what depends on that key alone."""
    if write.value is None or not write.kept.keys:
        return False
    made = Made(places, write, write.kept.keys)
    made.follow(write.value)
    return made.of_keys and not made.of_others


def is_fixed(places: Places, write: Write) -> bool:
    """Whether a write puts the same there, whatever sample is asked for."""
    if write.value is None or write.kept.keys:
        return False
    made = Made(places, write, ())
    made.follow(write.value)
    for test in tests_around(write):
        made.under(test)
    return not made.of_others


def tests_around(write: Write) -> Iterator[cst.BaseExpression]:
    """The conditions that a write stands under, within its function."""
    for node in ancestors(write.function.module, write.node):
        if node is write.function.node:
            return
        if isinstance(node, (cst.If, cst.While)):
            yield node.test


def latest_entries(places: Places, found: list[Write]) -> set[int]:
    """The writes of caches that hold what belongs to the key that came last.

    ``if key != self.key: self.key, self.rows = key, load(key)``
    """
    benign: set[int] = set()
    for write in found:
        if write.kept.keys or write.value is None:
            continue
        for node in ancestors(write.function.module, write.node):
            if node is write.function.node:
                break
            if isinstance(node, cst.If) and compares(places, write, node.test):
                inner = [one for one in found if is_within(one.node, node.body)]
                if holds_latest(places, node, inner, write.value):
                    benign.update(map(id, inner))
                break
    return benign


def compares(places: Places, write: Write, test: cst.BaseExpression) -> bool:
    """Whether a condition asks whether what is kept differs from what is written now."""
    for node in descendants(test):
        if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
            continue
        if not isinstance(node.comparisons[0].operator, (cst.NotEqual, cst.IsNot)):
            continue
        sides = (node.left, node.comparisons[0].comparator)
        for one, other in (sides, sides[::-1]):
            kept = places.of(write.function, one)
            same = kept is not None and kept.place.meets(write.kept.place)
            if same and write.value is not None and write.value.deep_equals(other):
                return True
    return False


def holds_latest(places: Places, node: cst.If, inner: list[Write], key: cst.BaseExpression) -> bool:
    """Whether all that a branch does is to keep what depends on a key alone."""
    if node.orelse is not None:
        return False
    if any(isinstance(part, (cst.Return, cst.Yield)) for part in descendants(node.body)):
        return False
    for write in inner:
        if write.removes:
            continue
        if write.value is None:
            return False
        made = Made(places, write, (key,))
        made.follow(write.value)
        if made.of_others:
            return False
    bound = {
        name.value
        for part in descendants(node.body)
        if isinstance(part, cst.AssignTarget)
        for name in names_in(part.target)
    }
    own = set(map(id, descendants(node)))
    return not inner or not any(
        isinstance(part, cst.Name) and part.value in bound and id(part) not in own
        for part in descendants(inner[0].function.node)
    )


def is_within(node: cst.CSTNode, around: cst.CSTNode) -> bool:
    """Whether a node stands in another one."""
    return any(part is node for part in descendants(around))
