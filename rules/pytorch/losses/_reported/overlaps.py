"""Numbers that are reduced where they are added up, and again where the total is used.

A total that decides is reduced step by step, as its beginning is none of one process; the same
total in a quotient that is printed would be reduced once more, as the quotient that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Mapping, Opaque, Sequence, Value, Values
from transpile.facts.walk import children, descendants
from transpile.plan.graph import method_calls, parents
from transpile.quantity.asking import Kind
from transpile.records import dataclass, replace

from .counts import Counts
from .inquiry import Inquiry
from .leaves import CONVERTS
from .model import Change, Group, Leaf

#: What gives a number of a tensor, or a tensor of another type.
HANDED_ON = CONVERTS | {"item", "numpy", "clone", "tolist"}
#: Expressions that pass on the number in them, or another form of it.
PASSING = (cst.Call, cst.Attribute, cst.Arg, cst.UnaryOperation)
DEEPEST_WAY = 100
#: Passes after which totals that are made of each other count as mixed.
MOST_PASSES = 6
MIXED = "some of the numbers in it are those of all processes already, some are not"


def reduced_once(inquiry: Inquiry, groups: list[Group]) -> list[Group]:
    """The groups, what is made of numbers that are reduced before being left as it is.

    What is made of such numbers and of others is doubted.
    """
    overlaps = Overlaps(inquiry, groups)
    return [overlaps.settled(group) for group in groups]


class Share(Enum):
    """Of whose batches a number is."""

    NONE = "of none"
    OWN = "of this process's"
    ALL = "of those of all processes"
    MIXED = "of some of both"


@dataclass(frozen=True)
class Place:
    """Where a value is met on the way.

    Args:
        node: the expression, where it is known.
        module: where that stands.
        holder: what holds the value, where no expression is known.
    """

    node: cst.CSTNode | None
    module: Module | None
    holder: Value | None = None


class Overlaps:
    """Tells what is reduced before it comes to another place.

    Args:
        inquiry: what is known already.
        groups: the reported parts, and where their numbers leave the batch.
    """

    def __init__(self, inquiry: Inquiry, groups: list[Group]) -> None:
        self.inquiry = inquiry
        self.counts = Counts(inquiry)
        leaves = [leaf for group in groups for leaf in group.leaves]
        #: The places that are reduced, by the expressions that are made of nothing else.
        self.around: dict[int, list[Leaf]] = {}
        for leaf in {id(leaf.node): leaf for leaf in leaves if is_reduced(leaf)}.values():
            self.around.setdefault(id(leaf.node), []).append(leaf)
            for outer in leaf.module.source.parents(leaf.node):
                if not isinstance(outer, PASSING):
                    break
                self.around.setdefault(id(outer), []).append(leaf)

    def settled(self, group: Group) -> Group:
        """A group without what is reduced before."""
        kept: list[Leaf] = []
        for leaf in group.leaves:
            before, share = self.behind(leaf) if is_reduced(leaf) else ([], Share.OWN)
            counts = any(one.degree for one in before)
            if counts and (share is Share.MIXED or (share is Share.OWN and leaf.inner)):
                self.inquiry.doubt(replace(group.part, decides=False), MIXED)
                return replace(group, leaves=())
            if counts and share is Share.OWN:
                # A factor of all processes, such as a count, is none that grows with a share.
                leaf.degree = leaf.whole_degree
            if share is Share.ALL:
                values = self.inquiry.plan.facts.values_of(leaf.node)
                inside = {node for one in before if one.enters for node in one.inner}
                counted = self.counts.of(None, values, leaf.event)
                kept.extend([*before, *(one for one in counted if id(one.node) not in inside)])
            else:
                # Means over all processes may stay beside what is of one, in what is averaged then.
                kept.append(leaf)
        return replace(group, leaves=tuple({id(leaf.node): leaf for leaf in kept}.values()))

    def at(self, node: cst.CSTNode) -> list[Leaf]:
        """What is reduced of what an expression hands over."""
        found = [*self.around.get(id(node), ())]
        for inner in descendants(node):
            found.extend(one for one in self.around.get(id(inner), ()) if one.node is inner)
        return list({id(one.node): one for one in found}.values())

    def behind(self, leaf: Leaf) -> tuple[list[Leaf], Share]:
        """What is reduced before a place, and of whose batches it is there."""
        way = Way(self, leaf)
        share = way.end(self.inquiry.plan.facts.values_of(leaf.node))
        return list(way.found.values()), share

    def is_of_batch(self, value: Value) -> bool:
        """Whether a value is a number of this process's batches."""
        quantity = self.inquiry.analysis.of((value,))
        return quantity.kind is Kind.PART or bool(quantity.pending)


class Way:
    """The way back from one place to what its number is made of.

    Args:
        overlaps: what is reduced.
        leaf: the place.
    """

    def __init__(self, overlaps: Overlaps, leaf: Leaf) -> None:
        self.overlaps = overlaps
        self.leaf = leaf
        self.found: dict[int, Leaf] = {}
        self.known: dict[int, Share] = {}
        #: What is worked out in this pass, begun or done.
        self.met: set[int] = set()

    def end(self, values: Values) -> Share:
        """Of whose batches values are, once totals that are made of each other settle."""
        for _ in range(MOST_PASSES):
            before = dict(self.known)
            self.met.clear()
            share = self.of(values, Place(self.leaf.node, self.leaf.module))
            if self.known == before:
                return share
        return Share.MIXED

    def of(self, values: Values, place: Place, depth: int = 0) -> Share:
        """Of whose batches one of several values is."""
        return added(self.of_one(value, place, depth + 1) for value in values)

    def of_one(self, value: Value, place: Place, depth: int) -> Share:
        """The same for one value."""
        entries = self.overlaps.inquiry.entered.of(value)
        if entries and self.overlaps.is_of_batch(value):
            read = self.overlaps.inquiry.entered.is_read(
                value, place.node, place.module, place.holder
            )
            leaves = [one for entry in entries for one in self.overlaps.at(entry.node)]
            if read is not False and leaves:
                self.found.update((id(one.node), one) for one in leaves)
                return Share.ALL if read else Share.MIXED
        if self.overlaps.inquiry.analysis.of((value,)).kind is Kind.SAMPLE:
            # A number of all processes in a loss leaves it that of one process's samples.
            return Share.OWN
        if id(value) in self.met:
            # What a total is added to is of the same batches as what is added.
            return self.known.get(id(value), Share.NONE)
        if not self.overlaps.is_of_batch(value) and not isinstance(value, (Sequence, Mapping)):
            return Share.NONE
        if depth > DEEPEST_WAY:
            return Share.MIXED
        self.met.add(id(value))
        pieces = list(pieces_of(value))
        shares = [self.of_piece(values, piece, depth) for values, piece in pieces]
        if not pieces:
            share = self.of_whole(value, depth)
        elif isinstance(value, Opaque) and value.name in ("Multiply", "Divide"):
            share = multiplied(shares, divides=value.name == "Divide")
        else:
            share = added(shares)
        self.known[id(value)] = share
        return share

    def of_whole(self, value: Value, depth: int) -> Share:
        """The same for what anything else than arithmetic makes of its parts."""
        place = Place(None, None, value)
        made = {self.of(group, place, depth) for group in parents(value)} - {Share.NONE}
        if isinstance(value, (Sequence, Mapping)):
            return added(made)
        if made == {Share.ALL}:
            return Share.ALL
        return Share.MIXED if made & {Share.ALL, Share.MIXED} else Share.OWN

    def of_piece(self, values: Values, place: Place, depth: int) -> Share:
        """The same for an operand, of which the expression may be known."""
        reduced = self.overlaps.around.get(id(place.node), [])
        reduced = [one for one in reduced if one.node is not self.leaf.node]
        self.found.update((id(one.node), one) for one in reduced)
        return Share.ALL if reduced else self.of(values, place, depth)


def added(shares: Iterable[Share]) -> Share:
    """Of whose batches a sum is, or one of several numbers."""
    found = set(shares) - {Share.NONE}
    return found.pop() if len(found) == 1 else Share.MIXED if found else Share.NONE


def multiplied(shares: list[Share], divides: bool) -> Share:
    """Of whose batches a product or a quotient is: a number of all stays a factor."""
    if divides and shares[-1] is Share.OWN and Share.ALL in shares:
        return Share.MIXED
    if Share.MIXED not in shares and Share.OWN in shares:
        return Share.OWN
    return added(shares)


def is_reduced(leaf: Leaf) -> bool:
    """Whether a place is taken over all processes, and not only multiplied."""
    return leaf.change is Change.MEAN


def pieces_of(value: Value) -> Iterator[tuple[Values, Place]]:
    """What arithmetic makes a value of, each with its expression where it is known."""
    if not isinstance(value, Opaque):
        return
    if value.kind == "operation" and value.name != "len":
        nodes = operands_of(value.node) if len(value.operands) == 2 else (None,)
        for index, operand in enumerate(value.operands):
            yield operand, Place(nodes[index] if index < len(nodes) else None, value.module)
    elif value.kind == "item" and value.operands:
        yield value.operands[0], Place(None, None)
    for name, receiver in method_calls(value):
        if name in HANDED_ON:
            yield receiver, Place(next(iter(children(value.node)), None), value.module)


def operands_of(node: cst.CSTNode) -> tuple[cst.CSTNode | None, ...]:
    """The expressions of the two operands of an operation."""
    if isinstance(node, cst.AugAssign):
        return node.target, node.value
    if isinstance(node, cst.BinaryOperation):
        return node.left, node.right
    return ()
