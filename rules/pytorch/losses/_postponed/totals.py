"""Totals of training batches that each process can keep for itself until they are read."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TypeGuard

import libcst as cst

from transpile.facts.events import Call, Loop
from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.plan.flow.ranks import Ranks
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis
from transpile.records import dataclass, replace
from transpile.rules.pytorch.agreement._divergence import Divergence, loop_position
from transpile.rules.pytorch.losses._multiples import is_simple
from transpile.rules.pytorch.losses._reported import Change, Leaf
from transpile.rules.pytorch.randomness.vary_random_numbers import training_loop

from .names import Owner, Uses, addition_of, owner_of, uses_of, zero_start
from .returned import number_of, taken_by_callers

#: What becomes of a total at last.
CHANGES = (Change.MEAN, Change.SUM, Change.SHARED_SUM)
Loops = cst.For | cst.While


class Kept(Enum):
    """How numbers of many batches are kept."""

    NUMBER = "number"
    LIST = "list"
    METER = "meter"


@dataclass(frozen=True, eq=False)
class Place:
    """Where totals are reduced.

    Args:
        module: where it is.
        node: the loop behind which it is, or the ``if`` at the top of whose body it is.
    """

    module: Module
    node: cst.For | cst.While | cst.If


@dataclass(frozen=True, eq=False)
class Postponed:
    """A total that each process keeps for itself until it is read.

    Args:
        name: the variable.
        change: what becomes of it.
        loader: the text of the loader that tells whether its batches are shared, where they may not
            be.
        leaves: the numbers that are added, which stay those of the process.
        places: where it is reduced.
        order: where in the text it is added to first.
        kept: how it keeps numbers.
        attributes: of a meter, those that hold means.
    """

    name: str
    change: Change
    loader: str
    leaves: tuple[Leaf, ...]
    places: tuple[Place, ...]
    order: int
    kept: Kept = Kept.NUMBER
    attributes: tuple[str, ...] = ()


class Totals:
    """Finds the totals that can wait.

    Args:
        plan: the plan.
        leaves: the numbers that are to be reduced, by the identity of their node.
    """

    def __init__(self, plan: Plan, leaves: dict[int, Leaf]) -> None:
        self.plan = plan
        self.leaves = leaves
        self.analysis = analysis(plan)
        self.divergence = Divergence(plan, loop_position(plan, training_loop(plan)))
        self.ranks = Ranks(plan, frozenset())
        self.numbers: dict[int, Leaf] = {}
        #: What is added where, of numbers that functions hand back.
        self.taken: dict[int, tuple[Leaf, cst.Call]] = {}
        for leaf in leaves.values():
            number = number_of(leaf) if leaf.change in CHANGES else None
            if number is not None and leaf.pending is None and not leaf.plain:
                self.numbers[id(number)] = leaf
                if not leaf.loader and not leaf.evaluates:
                    self.follow(leaf, number)

    def follow(self, leaf: Leaf, number: cst.Call) -> None:
        """Note a number, too, where functions hand it back to."""

        def is_linear(module: Module, node: cst.BaseExpression) -> bool:
            return len(self.linear(module, node) or ()) == 1

        for taken in taken_by_callers(self.plan, leaf.module, number, is_linear):
            there = replace(leaf, module=taken.module, node=taken.node)
            self.numbers[id(taken.node)] = there
            self.taken[id(there)] = (leaf, taken.call)

    def own(self, leaves: list[Leaf]) -> tuple[Leaf, ...]:
        """The numbers themselves, wherever they are added."""
        return tuple(self.taken[id(one)][0] if id(one) in self.taken else one for one in leaves)

    def find(self) -> Iterator[Postponed]:
        """All of them."""
        seen: set[tuple[int, str]] = set()
        for leaf in self.numbers.values():
            owner = owner_of(leaf.module, leaf.node)
            name = self.added_to(leaf)
            if owner is None or not name or (id(owner), name) in seen:
                continue
            seen.add((id(owner), name))
            uses = uses_of(leaf.module, owner, name, zero_start, addition_of)
            if uses is None or (
                isinstance(owner, cst.Module) and leaf.module is not self.plan.entry
            ):
                continue
            yield from self.of_variable(leaf.module, owner, name, uses)

    def added_to(self, leaf: Leaf) -> str:
        """The variable that a number is added to; empty for none."""
        for around in ancestors(leaf.module, leaf.node):
            if isinstance(around, cst.AugAssign):
                return around.target.value if isinstance(around.target, cst.Name) else ""
            if isinstance(around, cst.Assign):
                target = around.targets[0].target
                return target.value if isinstance(target, cst.Name) else ""
            if isinstance(around, cst.BaseSmallStatement):
                return ""
        return ""

    def of_variable(
        self, module: Module, owner: Owner, name: str, uses: Uses
    ) -> Iterator[Postponed]:
        """The loops over which a variable can be kept from the other processes."""
        done: set[int] = set()
        for statement, _ in (*uses.additions, *uses.settings):
            for loop in loops_around(module, owner, statement):
                if id(loop) in done:
                    break
                found = self.over_loop(module, name, uses, loop)
                if found is not None:
                    done.add(id(loop))
                    yield found
                    break

    def over_loop(self, module: Module, name: str, uses: Uses, loop: Loops) -> Postponed | None:
        """A variable that a loop adds to, from zero in front of it, or sets for itself alone."""
        inside = {id(node) for node in descendants(loop)}
        settings = [(s, value) for s, value in uses.settings if id(s) in inside]
        if settings:
            everything = [*uses.reads, *(s for s, _ in (*uses.additions, *uses.settings))]
            if any(id(node) not in inside for node in everything):
                return None
        elif not starts_before(module, uses, loop, name):
            return None
        leaves: list[Leaf] = []
        changes: set[tuple[Change, str]] = set()
        plain = False
        additions = [(s, added) for s, added in uses.additions if id(s) in inside]
        for _, added in (*additions, *settings):
            found = self.linear(module, added)
            if found is None:
                return None
            leaves += found
            plain = plain or not found
            changes.update((leaf.change, leaf.loader) for leaf in found)
        if len(changes) != 1:
            return None
        change, loader = changes.pop()
        if change is not Change.MEAN and (plain or settings):
            return None
        if loader and sets_a_name_of(loop, loader):
            return None
        places = self.read_in(module, uses, loop, inside, change)
        if places is None:
            return None
        if any(id(read) not in inside for read in uses.reads) or any(
            id(statement) not in inside for statement, _ in (*uses.additions, *uses.settings)
        ):
            if leaves_reads_out(module, loop, uses):
                return None
            places.append(Place(module, loop))
        if not places or not all(self.reached_by_all(leaf, loop) for leaf in leaves):
            return None
        order = min(module.source.span(leaf.node).start for leaf in leaves)
        return Postponed(name, change, loader, self.own(leaves), tuple(places), order)

    def read_in(
        self, module: Module, uses: Uses, loop: Loops, inside: set[int], change: Change
    ) -> list[Place] | None:
        """Where a variable is reduced within the loop; None where it is read in other places.

        An average of what was averaged before is the same again; a sum is not, and must start anew.
        """
        found: dict[int, cst.If] = {}
        for read in uses.reads:
            if id(read) not in inside:
                continue
            body = self.at_times(module, read, loop)
            if body is None:
                return None
            found[id(body)] = body
        for each in found.values():
            nodes = {id(node) for node in descendants(each.body)}
            if any(id(s) in nodes for s, _ in (*uses.additions, *uses.settings)):
                return None
            starts = [line for line in uses.starts if module.source.parent(line) is each.body]
            if change is not Change.MEAN and not starts:
                return None
            if starts and change is not Change.MEAN:
                last = max(module.source.span(line).start for line in starts)
                reads = [read for read in uses.reads if id(read) in nodes]
                if any(module.source.span(read).start > last for read in reads):
                    return None
        return [Place(module, each) for each in found.values()]

    def at_times(self, module: Module, read: cst.Name, loop: Loops) -> cst.If | None:
        """The ``if`` within a loop that all processes enter alike, around a read."""
        found: cst.If | None = None
        inner: cst.CSTNode = read
        for around in ancestors(module, read):
            if around is loop:
                # What the loop itself asks for, or does at its end, is no part of its body.
                return found if inner is loop.body else None
            if isinstance(around, cst.If):
                if inner is around.test or not self.is_equal(module, around.test):
                    return None
                if inner is around.body and isinstance(around.body, cst.IndentedBlock):
                    found = found or around
            elif isinstance(around, (cst.For, cst.While)):
                # How often it comes here is another question.
                found = None
            elif isinstance(around, (cst.Try, cst.TryStar, cst.Match)):
                return None
            inner = around
        return None

    def is_equal(self, module: Module, test: cst.BaseExpression) -> bool:
        """Whether an expression is the same on all processes."""
        values = self.plan.facts.values_of(test)
        return self.divergence.cause(module, test) is None and not self.ranks.is_rank(values)

    def linear(self, module: Module, node: cst.BaseExpression) -> list[Leaf] | None:
        """The numbers that an expression is a sum of, times what is the same on all processes."""
        leaf = self.numbers.get(id(node))
        if leaf is not None:
            return [leaf]
        if isinstance(node, cst.BinaryOperation):
            first = self.linear(module, node.left)
            second = self.linear(module, node.right)
            if first is None or second is None:
                return None
            if isinstance(node.operator, cst.Multiply):
                return None if first and second else [*first, *second]
            if isinstance(node.operator, cst.Divide):
                return None if second else first
            if isinstance(node.operator, (cst.Add, cst.Subtract)):
                return [*first, *second] if bool(first) == bool(second) else None
            return None
        return [] if self.is_factor(module, node) else None

    def is_factor(self, module: Module, node: cst.BaseExpression) -> bool:
        """Whether an expression is a number that all processes have alike."""
        if isinstance(node, (cst.Integer, cst.Float)):
            return True
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            if node.func.value != "len" or len(node.args) != 1 or not is_simple(node.args[0].value):
                return False
        elif not is_simple(node):
            return False
        quantity = self.analysis.of(self.plan.facts.values_of(node))
        if quantity.kind is not Kind.EQUAL or quantity.pending:
            return False
        return self.divergence.cause(module, node) is None

    def reached_by_all(self, leaf: Leaf, loop: Loops) -> bool:
        """Whether the number is added wherever the loop runs, with all processes."""
        own = {id(node) for node in descendants(loop)}
        everywhere: set[tuple[int, ...]] = set()
        adding: set[tuple[int, ...]] = set()
        number = self.taken[id(leaf)][1] if id(leaf) in self.taken else number_of(leaf)
        assert number is not None
        statement = {id(node) for node in descendants(number)}
        for event in self.plan.facts.events:
            if event.detached:
                continue
            for position, frame in enumerate(event.stack):
                if isinstance(frame, Loop) and frame.node is loop:
                    context = tuple(
                        id(each.node) for each in event.stack[:position] if isinstance(each, Call)
                    )
                    everywhere.add(context)
                    if id(event.node) in statement and id(event.node) in own:
                        adding.add(context)
                        if self.ranks.some_ranks(event):
                            return False
        return bool(adding) and everywhere == adding


def loops_around(module: Module, owner: Owner, node: cst.CSTNode) -> Iterator[Loops]:
    """The loops of a function around a place, innermost first."""
    for around in ancestors(module, node):
        if around is owner:
            return
        if isinstance(around, (cst.For, cst.While)):
            yield around


def starts_before(module: Module, uses: Uses, loop: Loops, name: str) -> bool:
    """Whether a variable is set to zero in the block of a loop, and not used from there to it."""
    block = module.source.parent(loop)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return False
    starts = {id(line) for line in uses.starts}
    statements = list(block.body)
    position = next(index for index, each in enumerate(statements) if each is loop)
    for statement in reversed(statements[:position]):
        if id(statement) in starts:
            return True
        if any(isinstance(n, cst.Name) and n.value == name for n in descendants(statement)):
            return False
    return False


def leaves_reads_out(module: Module, loop: Loops, uses: Uses) -> bool:
    """Whether a read may follow the loop without passing its end: behind a caught exception."""
    for around in ancestors(module, loop):
        if isinstance(around, (cst.FunctionDef, cst.Module)):
            return False
        if isinstance(around, (cst.Try, cst.TryStar)) or suppresses(around):
            caught = {id(node) for node in descendants(around.body)}
            if any(id(read) not in caught for read in uses.reads):
                return True
    return False


def suppresses(node: cst.CSTNode) -> TypeGuard[cst.With]:
    """Whether a block passes over exceptions."""
    return isinstance(node, cst.With) and any(
        isinstance(part, cst.Name) and "suppress" in part.value
        for item in node.items
        for part in descendants(item.item)
    )


def sets_a_name_of(loop: Loops, text: str) -> bool:
    """Whether a loop sets a variable that an expression in its head is made of."""
    names = {
        node.value for node in descendants(cst.parse_expression(text)) if isinstance(node, cst.Name)
    }
    for node in descendants(loop):
        target: cst.CSTNode | None = None
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.NamedExpr)):
            target = node.target
        elif isinstance(node, (cst.For, cst.CompFor)):
            target = node.target
        if target is not None and any(
            isinstance(part, cst.Name) and part.value in names for part in descendants(target)
        ):
            return True
    return False
