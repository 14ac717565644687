"""Samples that a script collects over many batches, or goes through one by one.

Some samples of a batch that are looked at are as good as others. A list of all samples is not: each
process has those of its share, and so is every number that is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values
from transpile.plan.flow.places import ancestors
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, Quantity
from transpile.quantity.contents import GROWING
from transpile.quantity.sample_axis.pieces import BY_PLACE
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.rules.pytorch.agreement._together import agreeing_calls

from .inquiry import Inquiry
from .model import Part


class Collected:
    """Finds what is made of samples that are collected over many batches.

    Args:
        inquiry: what is known already.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        self.analysis = inquiry.analysis
        #: The lists that training fills, by identity.
        self.grown: set[int] = set()
        for event in self.plan.facts.events:
            if event.detached or not self.plan.in_training(event.stack):
                continue
            if event.kind == "operate" and event.name in ("append", "extend"):
                self.grown.update(id(cell) for cell in event.callee)
            for callee in event.callee if event.kind == "call" else ():
                if isinstance(callee, Opaque) and callee.name in GROWING and callee.operands:
                    self.grown.update(
                        id(cell) for cell in callee.operands[0] if isinstance(cell, Sequence)
                    )
        self.grown -= averaged(self.plan)

    def hold(self, values: Values) -> bool:
        """Whether values are made of such lists."""
        return any(id(value) in self.grown for value in walk_back(values))

    def shows_few(self, part: Part, quantity: Quantity) -> bool:
        """Whether what cannot be told of is a few samples, and no number made of them."""
        if quantity.reason not in (PIECES, BY_PLACE) or quantity.whole:
            return False
        if self.hold(part.values):
            return False
        behind = list(walk_back(part.values))
        return not any(self.goes_through(value) for value in (*behind, *self.places(behind)))

    def places(self, values: Iterable[Value]) -> Iterator[Value]:
        """What says which samples are taken where several axes are indexed, as in ``x[i, :]``."""
        for value in values:
            node = value.node if isinstance(value, Opaque) and value.kind == "item" else None
            if isinstance(node, cst.Subscript) and len(node.slice) > 1:
                for element in node.slice:
                    if isinstance(element.slice, cst.Index):
                        yield from walk_back(self.plan.facts.values_of(element.slice.value))

    def are_samples(self, values: Values) -> bool:
        """Whether values are samples of a batch, or made of one each."""
        found = self.analysis.of(values)
        if found.kind is Kind.SAMPLE:
            return True
        return found.content == "one" and not any(map(adds_up, values))

    def decides(self, part: Part) -> bool:
        """Whether a condition behind the batches asks for a number made of such lists."""
        return (
            part.decides
            and not self.plan.in_training(part.event.stack)
            and not any(isinstance(value, Sequence) for value in part.values)
            and self.hold(part.values)
            and self.analysis.of(part.values).kind is Kind.UNKNOWN
        )

    def goes_through(self, value: Value) -> bool:
        """Whether a value is one sample after the other of a whole batch."""
        if not isinstance(value, Opaque) or value.kind != "element":
            return False
        for source in value.operands[0]:
            if "builtins.range" in called_names(source) and isinstance(source, Opaque):
                ends = [item.values for item in source.arguments.items]
                return any(self.analysis.of(end).degree == 1 for end in ends)
            if isinstance(source, Opaque) and takes_some(source):
                return False
        if self.analysis.batch_of(value) is not None:
            return False
        found = self.analysis.of(value.operands[0])
        return found.kind is Kind.SAMPLE or (found.kind is Kind.UNKNOWN and found.sampled)


def averaged(plan: Plan) -> set[int]:
    """The lists, by identity, whose numbers the script itself takes over all processes.

    As ``losses[:] = average_numbers(*losses)`` does.
    """
    agreeing = agreeing_calls(plan)
    found: set[int] = set()
    for event in plan.facts.stores:
        if event.name == "[]":
            around = ancestors(event.module, event.node)
            statement = next((one for one in around if isinstance(one, cst.Assign)), None)
            if statement is not None and id(statement.value) in agreeing:
                found.update(id(cell) for cell in event.callee if isinstance(cell, Sequence))
    return found


def adds_up(value: Value) -> bool:
    """Whether a value is made of what it was before, as a number is that samples are added to."""
    if not isinstance(value, Opaque) or value.kind != "operation":
        return False
    before = tuple(one for operand in value.operands for one in operand)
    return any(one is value for one in walk_back(before))


def takes_some(source: Opaque) -> bool:
    """Whether a source is a slice of a known size."""
    return source.kind == "item" and all(isinstance(one, Constant) for one in source.index)
