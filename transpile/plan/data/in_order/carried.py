"""What one sample or batch leaves for the next: writes that a later call reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.values import BoundMethod, Function
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import Reads
from transpile.plan.data.in_order.exposed import Exposed
from transpile.plan.data.in_order.kept_places import Places
from transpile.plan.data.in_order.same_key import is_by_key, is_fixed, is_within, latest_entries
from transpile.plan.data.in_order.sampling import names_in, stands_in_body
from transpile.plan.data.in_order.writes import Write, writes
from transpile.plan.flow.places import ancestors, start
from transpile.plan.model import Plan

#: What is done with one entry of a container, or to see whether it is there.
LOOKING = frozenset({"get", "setdefault", "pop", "move_to_end", "__getitem__", "__contains__"})
CONSTANTS = (cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation)


def carried(plan: Plan, reads: Reads, roots: Iterable[Function]) -> Iterator[Write]:
    """The writes of some code whose outcome a later call of it reads.

    What is the same for the same key, as in a cache, and what is the same for all samples, such as
    a file that is opened late, is nothing of the kind.

    Args:
        plan: the plan.
        reads: the code.
        roots: the functions of it that are called from outside.
    """
    called = tuple(roots)
    places = Places(plan, reads, called)
    found = list(writes(places))
    if not found:
        return
    looks = Looks(places, called, found)
    cached = {id(each) for each in found if is_by_key(places, each)}
    latest = latest_entries(places, found)
    for each in found:
        if id(each) in latest:
            continue
        others = [one for one in found if one.kept.place.meets(each.kept.place)]
        fills = [one for one in others if not one.removes]
        by_key = bool(fills) and all(id(one) in cached for one in fills)
        if each.removes and by_key:
            continue
        fixed = not each.removes and is_fixed(places, each)
        for function, node in looks.at(each):
            if by_key and (looks.up(function, node) or id(node) in looks.removing):
                continue
            if looks.only_guards(function, node, others):
                continue
            if fixed and not turns(each, function, node):
                continue
            yield each
            break


class Looks:
    """The places at which code reads what outlives its calls.

    Args:
        places: the places of the code.
        roots: the functions of it that are called from outside.
        found: what it writes.
    """

    def __init__(self, places: Places, roots: Iterable[Function], found: list[Write]) -> None:
        self.places = places
        exposed = Exposed(places, roots)
        written = {id(part) for one in found for part in chain_of(one)}
        self.removing = {id(part) for one in found if one.removes for part in descendants(one.node)}
        self.all = [
            (function, node, kept)
            for function, node in places.reads.nodes
            if isinstance(node, (cst.Name, cst.Attribute))
            and id(node) not in written
            and is_read(function, node)
            and exposed.has(node)
            and (kept := places.of(function, node)) is not None
            and not self.passes_on(function, node)
        ]

    def at(self, write: Write) -> Iterator[tuple[Function, cst.CSTNode]]:
        """Where what a write changes is read."""
        for function, node, kept in self.all:
            if kept.place.meets(write.kept.place):
                entry = self.places.of(function, self.outermost(function, node))
                if entry is None or not entry.differs(write.kept):
                    yield function, node

    def outermost(self, function: Function, node: cst.CSTNode) -> cst.CSTNode:
        """The entry that is read of a container."""
        around = self.places.parent(function, node)
        while isinstance(around, cst.Subscript) and around.value is node:
            node, around = around, self.places.parent(function, around)
        return node

    def up(self, function: Function, node: cst.CSTNode) -> bool:
        """Whether a read looks up one entry, or whether it is there."""
        around = self.places.parent(function, node)
        if isinstance(around, cst.Subscript):
            return around.value is node
        if isinstance(around, cst.ComparisonTarget):
            return isinstance(around.operator, (cst.In, cst.NotIn))
        return isinstance(around, cst.Attribute) and around.attr.value in LOOKING

    def passes_on(self, function: Function, node: cst.CSTNode) -> bool:
        """Whether a read gives a place another name only, or gives it to the project's code."""
        around = self.places.parent(function, node)
        while isinstance(around, cst.Subscript) and around.value is node:
            node, around = around, self.places.parent(function, around)
        facts = self.places.plan.facts
        if isinstance(around, cst.Attribute) and around.value is node:
            call = self.places.parent(function, around)
            if not isinstance(call, cst.Call) or call.func is not around:
                # The attribute is a place of its own.
                return isinstance(node, cst.Name) and self.places.of(function, around) is not None
            return any(isinstance(v, (BoundMethod, Function)) for v in facts.values_of(around))
        if isinstance(around, cst.Arg):
            call = self.places.parent(function, around)
            return isinstance(call, cst.Call) and any(
                isinstance(v, (BoundMethod, Function)) for v in facts.values_of(call.func)
            )
        if isinstance(around, cst.Assign) and around.value is node:
            target = around.targets[0].target
            names = self.places.names_of(function)
            return isinstance(target, cst.Name) and len(names.bound.get(target.value, ())) == 1
        return False

    def only_guards(self, function: Function, node: cst.CSTNode, others: list[Write]) -> bool:
        """Whether all that a read decides is whether the same place is written."""
        changes = {id(part) for one in others for part in descendants(one.node)}
        inner: cst.CSTNode = node
        for around in ancestors(function.module, node):
            if around is function.node:
                return False
            if isinstance(around, (cst.If, cst.While)) and is_within(inner, around.test):
                blocks = [around.body]
                if around.orelse is not None:
                    blocks.append(around.orelse)  # type: ignore[arg-type]
                return all(
                    isinstance(part, cst.Pass) or id(part) in changes or is_change(part, others)
                    for block in blocks
                    for part in small_statements(block)
                )
            inner = around
        return False


def is_change(statement: cst.CSTNode, others: list[Write]) -> bool:
    """Whether a statement is one write."""
    if isinstance(statement, cst.Expr):
        return any(one.node is statement.value for one in others)
    return any(one.node is statement for one in others)


def small_statements(block: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements of a block, without those that hold others."""
    for node in descendants(block):
        if isinstance(node, cst.BaseSmallStatement):
            yield node


def chain_of(write: Write) -> Iterator[cst.CSTNode]:
    """The nodes that stand for what a write changes, where its outcome is not used at once."""
    node = write.node
    if isinstance(node, cst.Subscript):
        return
    if isinstance(node, cst.Call):
        around = write.function.module.source.parent(node)
        if not isinstance(around, cst.Expr):
            return
    receiver = write.receiver
    while receiver is not None:
        yield receiver
        if isinstance(receiver, (cst.Subscript, cst.Attribute)):
            receiver = receiver.value
        else:
            return


def is_read(function: Function, node: cst.CSTNode) -> bool:
    """Whether a name or an attribute is read, and is no part of another attribute's name."""
    around = function.module.source.parent(node)
    if isinstance(around, cst.Attribute):
        return around.value is node
    if isinstance(around, (cst.Arg, cst.Param, cst.NameItem, cst.AssignTarget)):
        return isinstance(around, cst.Arg) and around.value is node
    return not (isinstance(around, (cst.For, cst.CompFor)) and around.target is node)


def turns(write: Write, function: Function, node: cst.CSTNode) -> bool:
    """Whether a read sees that something fixed has been written by an earlier call."""
    if not isinstance(write.value, CONSTANTS):
        return False
    for around in ancestors(function.module, node):
        if around is function.node:
            break
        if isinstance(around, cst.IfExp) and is_within(node, around.test):
            return True
        if isinstance(around, cst.If) and is_within(node, around.test):
            return decides(function, around)
    same = function.node is write.function.node
    module = function.module
    return same and stands_in_body(module, write.node) and (
        start(module, node) < start(module, write.node)
    )  # fmt: skip


def decides(function: Function, node: cst.If) -> bool:
    """Whether more depends on a condition than what is kept."""
    parts = list(descendants(node))
    if any(isinstance(part, (cst.Return, cst.Yield)) for part in parts):
        return True
    bound = {
        name.value
        for part in parts
        if isinstance(part, (cst.AssignTarget, cst.AugAssign))
        for name in names_in(part.target)
    }
    own = set(map(id, parts))
    return any(
        isinstance(part, cst.Name) and part.value in bound and id(part) not in own
        for part in descendants(function.node)
    )
