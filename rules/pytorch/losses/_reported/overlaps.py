"""Numbers that are reduced where they are added up, and again where the total is used.

A total that decides is reduced step by step, as its beginning is none of one process; the same
total in a quotient that is printed would be reduced once more, as the quotient that it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Value, Values
from transpile.facts.walk import children
from transpile.plan.graph import method_calls
from transpile.quantity.asking import Kind
from transpile.records import replace

from .counts import Counts
from .inquiry import Inquiry
from .leaves import CONVERTS
from .model import Change, Group, Leaf

#: What gives a number of a tensor, or a tensor of another type.
HANDED_ON = CONVERTS | {"item", "numpy", "clone", "tolist"}
MIXED = "some of the numbers in it are those of all processes already, some are not"


def reduced_once(inquiry: Inquiry, groups: list[Group]) -> list[Group]:
    """The groups, what is made of numbers that are reduced before being left as it is.

    What is made of such numbers and of others is doubted.
    """
    overlaps = Overlaps(inquiry, groups)
    return [overlaps.settled(group) for group in groups]


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
        #: The places that are reduced, by the expressions and statements around each.
        self.around: dict[int, list[Leaf]] = {}
        for leaf in {id(leaf.node): leaf for leaf in leaves if is_reduced(leaf)}.values():
            for outer in (leaf.node, *leaf.module.source.parents(leaf.node)):
                if isinstance(outer, cst.BaseSmallStatement):
                    break
                self.around.setdefault(id(outer), []).append(leaf)

    def settled(self, group: Group) -> Group:
        """A group without what is reduced before."""
        kept: list[Leaf] = []
        for leaf in group.leaves:
            before, own = self.behind(leaf) if is_reduced(leaf) else ([], False)
            if own and any(one.degree for one in before):
                self.inquiry.doubt(replace(group.part, decides=False), MIXED)
                return replace(group, leaves=())
            if own or not before:
                # Means over all processes may stay beside what is of one, in what is averaged then.
                kept.append(leaf)
            else:
                values = self.inquiry.plan.facts.values_of(leaf.node)
                kept.extend([*before, *self.counts.of(None, values, leaf.event)])
        return replace(group, leaves=tuple({id(leaf.node): leaf for leaf in kept}.values()))

    def behind(self, leaf: Leaf) -> tuple[list[Leaf], bool]:
        """What is reduced before a place, and whether anything that comes to it is not."""
        found: dict[int, Leaf] = {}
        own = False
        seen: set[int] = set()
        pending: list[Value] = list(self.inquiry.plan.facts.values_of(leaf.node))
        while pending:
            value = pending.pop()
            if id(value) in seen or not self.is_of_batch(value):
                continue
            seen.add(id(value))
            pieces = list(pieces_of(value))
            own = own or not pieces
            for values, node in pieces:
                reduced = self.around.get(id(node), [])
                reduced = [one for one in reduced if one.node is not leaf.node]
                if reduced:
                    found.update((id(one.node), one) for one in reduced)
                else:
                    pending.extend(values)
        return list(found.values()), own

    def is_of_batch(self, value: Value) -> bool:
        """Whether a value is a number of this process's batches."""
        quantity = self.inquiry.analysis.of((value,))
        return quantity.kind is Kind.PART or bool(quantity.pending)


def is_reduced(leaf: Leaf) -> bool:
    """Whether a place is taken over all processes, and not only multiplied."""
    return leaf.change is Change.MEAN


def pieces_of(value: Value) -> Iterator[tuple[Values, cst.CSTNode | None]]:
    """What arithmetic makes a value of, each with its expression where it is known."""
    if not isinstance(value, Opaque):
        return
    if value.kind == "operation" and value.name != "len":
        nodes = operands_of(value.node) if len(value.operands) == 2 else (None,)
        for place, operand in enumerate(value.operands):
            yield operand, nodes[place] if place < len(nodes) else None
    elif value.kind == "item" and value.operands:
        yield value.operands[0], None
    for name, receiver in method_calls(value):
        if name in HANDED_ON:
            yield receiver, next(iter(children(value.node)), None)


def operands_of(node: cst.CSTNode) -> tuple[cst.CSTNode | None, ...]:
    """The expressions of the two operands of an operation."""
    if isinstance(node, cst.AugAssign):
        return None, node.value
    if isinstance(node, cst.BinaryOperation):
        return node.left, node.right
    return ()
