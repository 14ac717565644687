"""Readers whose batches a script draws in a loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Generator, Opaque, Value
from transpile.plan.data.foreign_loaders import sources
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rules.fluid._events import loops_around
from transpile.rules.fluid._roles import Run, roles_of
from transpile.rules.fluid.data._divisions import Answer, Divided, Division, Undivided, reading_rank

FEEDER = "paddle.fluid.DataFeeder"
#: Readers' iterators that an operation only counts or pairs.


class Readers:
    """Finds the readers that batches are drawn from in loops, and divides them.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sharding = reading_rank(plan)
        self.iterations = list(plan.facts.iterations)

    def sources(self, run: Run, behind: dict[int, Value]) -> Iterator[Opaque | Generator]:
        """The iterators that the feed of a run is drawn from with ``next``."""
        for event in self.iterations:
            if event.name != "next":
                continue
            for value in sources(event.callee):
                if isinstance(value, Generator):
                    if any(id(each) in behind for each in value.yields):
                        yield value
                elif isinstance(value, Opaque) and value.kind == "call" and not is_builtin(value):
                    if id(value) in behind and self.has_element(value, behind):
                        yield value

    def around(self, run: Run) -> Iterator[Opaque | Generator]:
        """The iterator of the innermost loop over a reader around a run.

        What is set on an object, such as the data of a tensor, does not show in the values.
        """
        for loop in loops_around(run.event):
            clauses = clauses_of(loop.node)
            for event in self.iterations:
                if not any(event.node is clause for clause in clauses):
                    continue
                found = [
                    value
                    for value in sources(event.callee)
                    if isinstance(value, Generator)
                    or (
                        isinstance(value, Opaque) and value.kind == "call" and not is_builtin(value)
                    )
                ]
                if found:
                    yield from found
                    return

    def has_element(self, value: Opaque, behind: dict[int, Value]) -> bool:
        """Whether an element of an iterator is among some values."""
        return any(
            isinstance(each, Opaque)
            and each.kind == "element"
            and any(operand is value for operand in each.operands[0])
            for each in behind.values()
        )

    def is_samples(
        self, run: Run, behind: dict[int, Value], sources: list[Opaque | Generator]
    ) -> bool:
        """Whether the batches are lists of samples: they are fed by a feeder, or looked through."""
        for value in behind.values():
            for method, receivers in method_calls(value):
                if method == "feed" and any(FEEDER in called_names(r) for r in receivers):
                    return True
        drawn = {id(each) for source in sources for each in self.elements(source)}
        for event in self.iterations:
            if isinstance(event.node, cst.CompFor) and any(id(v) in drawn for v in event.callee):
                return True
        return False

    def elements(self, source: Opaque | Generator) -> Iterator[Value]:
        """What an iterator gives."""
        if isinstance(source, Generator):
            yield from source.yields
            return
        for event in self.iterations:
            for each in event.callee:
                if is_element(each, source):
                    yield each

    def divided_source(self, run: Run, source: Opaque | Generator) -> Answer:
        """The division of the reader behind an iterator."""
        node = source.node
        if isinstance(source, Generator) and id(source.function.node) in self.sharding:
            return Divided(run.event.module, node)
        entry = self.plan.entry
        if not isinstance(node, cst.Call) or not entry.source.has(node):
            return Undivided(
                run.event.module,
                run.event.node,
                "the batches of this run come from a reader in another module of the project",
                "make the iterator in the script",
            )
        if self.shared_with_others(run, node):
            return Undivided(
                entry,
                node,
                "this reader feeds the training and something else, which needs all of the data",
                "read the training data and the other data in loops of their own",
            )
        asked = self.asks_for_size(source)
        if asked is not None:
            return Undivided(
                asked.module,
                asked.node,
                "what happens here depends on how many samples a batch has, and a trainer's share "
                "has fewer",
                "drop the last batch where the reader is made: paddle.batch(..., drop_last=True)",
            )
        return Division("shard_reader", entry, node.func)

    def asks_for_size(self, source: Opaque | Generator) -> Event | None:
        """A test of the number of samples in a batch; None where there is none."""
        if self.plan.options.batch_size == "per-device":
            return None
        drawn = {id(each) for each in self.elements(source)}
        for event in self.plan.facts.tests:
            if event.detached or makes(source, event):
                continue
            for value in walk_back(self.plan.facts.values_of(event.node)):
                if not isinstance(value, Opaque) or value.name != "len":
                    continue
                for each in (each for operand in value.operands for each in operand):
                    if id(each) in drawn or is_element(each, source):
                        return event
        return None

    def shared_with_others(self, run: Run, node: cst.Call) -> bool:
        """Whether the iterator that is made at a node feeds runs that do not train."""
        training = {id(each.event) for each in roles_of(self.plan).training}
        made = {
            id(value)
            for event in self.plan.facts.calls
            if event.node is node
            for value in event.result
        }
        for other in roles_of(self.plan).runs:
            if id(other.event) in training or other.feed is None:
                continue
            behind = {id(value): value for value in walk_back(other.feed.values)}
            found = [*self.around(other), *self.sources(other, behind)]
            if any(id(source) in made for source in found):
                return True
        return False


def clauses_of(loop: cst.CSTNode) -> list[cst.CSTNode]:
    """What of a loop goes over something: the statement, or the clauses of a comprehension."""
    if not isinstance(loop, cst.BaseComp):
        return [loop]
    found: list[cst.CSTNode] = []
    clause: cst.CompFor | None = loop.for_in
    while clause is not None:
        found.append(clause)
        clause = clause.inner_for_in
    return found


def makes(source: Opaque | Generator, event: Event) -> bool:
    """Whether an event happens in the function that makes the batches of an iterator."""
    return isinstance(source, Generator) and any(
        frame.function is source.function for frame in event.calls()
    )


def is_element(value: Value, source: Value) -> bool:
    """Whether a value is what an iterator gives."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and any(operand is source for operand in value.operands[0])
    )


def is_builtin(value: Opaque) -> bool:
    """Whether a value is the result of a builtin such as ``range``."""
    return any(name.startswith("builtins.") for name in called_names(value))
