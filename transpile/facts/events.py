"""What happens when the script runs, in order, each with the calls and loops around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transpile.facts.values import Arguments, Function, Values, join
from transpile.records import dataclass

if TYPE_CHECKING:
    from transpile.facts.module import Module


@dataclass(frozen=True, eq=False)
class Call:
    """Inside a function of the project, entered by a call at `node` (None: by something else)."""

    node: cst.CSTNode | None
    function: Function
    module: Module
    receiver: Values = ()


@dataclass(frozen=True, eq=False)
class Loop:
    """Inside the body of a ``for``, ``while`` or comprehension."""

    node: cst.CSTNode
    module: Module


@dataclass(frozen=True)
class Branch:
    """On one arm of an ``if``, ``try``, conditional expression or short-circuit."""

    node: cst.CSTNode
    arm: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self.node is other.node and self.arm == other.arm

    def __hash__(self) -> int:
        return hash((id(self.node), self.arm))


@dataclass(frozen=True, eq=False)
class Within:
    """Inside a ``with`` block, and what each of its items may be."""

    node: cst.CSTNode
    items: tuple[Values, ...]

    @property
    def managers(self) -> Values:
        """Whatever may be entered here."""
        return tuple(value for values in self.items for value in values)


Frame = Call | Loop | Branch | Within
Stack = tuple[Frame, ...]


@dataclass(eq=False)
class Event:
    """Something that happens at a place, in one calling context.

    Args:
        kind: ``call``, ``iterate``, ``test``, ``choose`` (what a conditional expression asks for,
            with what it gives), ``exit`` (break, continue, return, raise),
            ``store`` (attribute or item of something opaque), ``delete`` (item of a container),
            ``operate`` (augmented assignment).
        node: the expression or statement.
        module: the module of `node`.
        stack: the frames around it, outermost first.
        callee: what is called, or what is iterated, tested, stored to.
        arguments: of a call.
        result: what it evaluates to.
        name: attribute stored, word of the exit, operator.
        order: position in the run, counted from 0.
        detached: it was reached only through a function that nothing in the project calls.
    """

    kind: str
    node: cst.CSTNode
    module: Module
    stack: Stack
    callee: Values
    arguments: Arguments
    result: Values
    name: str
    order: int
    detached: bool = False

    def loops(self) -> Iterator[Loop]:
        """The loops around it, outermost first, through all calls."""
        return (frame for frame in self.stack if isinstance(frame, Loop))

    def calls(self) -> Iterator[Call]:
        """The calls of project functions around it, outermost first."""
        return (frame for frame in self.stack if isinstance(frame, Call))

    def function(self) -> Function | None:
        """The innermost project function around it."""
        innermost = None
        for frame in self.stack:
            if isinstance(frame, Call):
                innermost = frame.function
        return innermost


def merge_arguments(old: Arguments, new: Arguments) -> Arguments:
    """The arguments of two passes over one call."""
    if old is new or not old.items:
        return new
    if len(old.items) != len(new.items):
        return new
    if are_the_same(old, new):
        return new
    items = []
    for before, after in zip(old.items, new.items, strict=True):
        if before.keyword != after.keyword:
            return new
        values = join(before.values, after.values)
        items.append(
            type(after)(
                values, after.node, after.keyword, after.mapping, before.maybe or after.maybe
            )
        )
    return Arguments(
        tuple(items), old.unknown_because or new.unknown_because, join(old.rest, new.rest)
    )


def are_the_same(old: Arguments, new: Arguments) -> bool:
    """Whether two passes over one call give it the very same objects, one for each argument."""
    if old.rest or new.rest:
        return False
    if (old.unknown_because or new.unknown_because) != new.unknown_because:
        return False
    for before, after in zip(old.items, new.items, strict=True):
        if before.keyword != after.keyword or (before.maybe and not after.maybe):
            return False
        if len(before.values) != 1 or len(after.values) != 1:
            return False
        if before.values[0] is not after.values[0]:
            return False
    return True
