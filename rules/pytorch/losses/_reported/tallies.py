"""Samples that a script counts one by one.

No number of a batch need flow into a count as ``seen += 1``, yet it is that of one process's share:
each process walks over its own samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop, Stack
from transpile.facts.values import Opaque, Sequence, Values
from transpile.plan.graph import walk_back
from transpile.plan.roles.backwards import data_sources
from transpile.quantity.asking import Kind

from .inquiry import Inquiry


class Tallies:
    """Finds what samples of training batches are counted in.

    Args:
        inquiry: what is known already.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.plan = inquiry.plan
        #: The statements that count, and the containers that they count in.
        self.counted: set[int] = set()
        for event in self.plan.facts.operations:
            if event.name == "Add" and self.counts_samples(event):
                self.counted.add(id(event.node))
                self.counted.update(id(value) for value in containers(event))

    def hold(self, values: Values) -> bool:
        """Whether values are made of such counts."""
        return bool(self.counted) and any(
            id(value) in self.counted
            or (isinstance(value, Opaque) and id(value.node) in self.counted)
            for value in walk_back(values)
        )

    def counts_samples(self, event: Event) -> bool:
        """Whether a number of its own is added for each sample of a training batch."""
        if event.detached or not event.result:
            return False
        if not self.inquiry.analysis.of(event.result).independent:
            return False
        inside = False
        for position, frame in enumerate(event.stack):
            if not isinstance(frame, Loop):
                continue
            if inside and self.walks_over_samples(frame):
                return True
            inside = inside or self.draws_training_batches(event.stack[: position + 1])
        return False

    def draws_training_batches(self, stack: Stack) -> bool:
        """Whether the innermost loop draws the batches of a loader that is sharded."""
        loop = stack[-1]
        return any(
            iteration.node is loop.node and called_from(iteration.stack) == called_from(stack)
            for loader in self.plan.loaders
            if loader.training
            for iteration in loader.iterations
        )

    def walks_over_samples(self, loop: Loop) -> bool:
        """Whether a loop has as many rounds as a batch has samples."""
        if not isinstance(loop.node, cst.For):
            return False
        values = self.plan.facts.values_of(loop.node.iter)
        if values and all(isinstance(one, Sequence) and not one.rest for one in values):
            # As many rounds as the script names entries: ``for name, value in kwargs.items()``.
            return False
        if self.inquiry.analysis.of(values).kind in (Kind.SHAPE, Kind.SAMPLE):
            return True
        return bool(data_sources(values, self.plan)) or any(
            self.inquiry.analysis.of((value,)).kind is Kind.SHAPE for value in walk_back(values)
        )


def called_from(stack: Stack) -> tuple[int, ...]:
    """The calls through which a place is reached."""
    return tuple(id(frame.node) for frame in stack if isinstance(frame, Call))


def containers(event: Event) -> Iterator[Opaque]:
    """What an item that is added to belongs to."""
    for value in event.callee:
        if isinstance(value, Opaque) and value.kind == "item" and value.operands:
            yield from (one for one in value.operands[0] if isinstance(one, Opaque))
