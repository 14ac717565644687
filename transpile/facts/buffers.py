"""Tensors that are made once and filled anew, such as with each batch.

What reads such a tensor reads what was copied into it last. A copy counts as done where every
branch and loop around it is around the reader, too; otherwise what stood there before counts, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Branch, Loop, Stack
from transpile.facts.values import External, Opaque, Value, Values, join
from transpile.records import dataclass


@dataclass(frozen=True)
class BufferWords:
    """A framework's words for them.

    Args:
        makers: functions that make a tensor.
        alike: functions and methods that make one like another.
        wrappers: functions that give back their first argument with the same memory.
        same_memory: methods that give back the memory of what they are called on, or a copy of it
            on another device that takes its place.
        memory: attributes that do.
        copies: methods that copy their argument over the whole of what they are called on.
        overwrites: methods that write something else over the whole of it.
    """

    makers: frozenset[str] = frozenset()
    alike: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    same_memory: frozenset[str] = frozenset()
    memory: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    overwrites: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Write:
    """Something written over the whole of a tensor: where, and the node that stands for it."""

    stack: Stack
    filling: Opaque


class Buffers:
    """What was written into each tensor so far.

    Args:
        words: how the framework says it.
    """

    def __init__(self, words: BufferWords) -> None:
        self.words = words
        self.writes: dict[int, list[Write]] = {}
        self.filled: dict[int, Values] = {}

    def concerns(self, method: str) -> bool:
        """Whether a method writes over the whole of a tensor."""
        return method in self.words.copies or method in self.words.overwrites

    def write(self, receivers: Values, stack: Stack, filling: Opaque) -> bool:
        """Note a write; whether it changes what readers find.

        Args:
            receivers: what the method is called on.
            stack: the frames around the call.
            filling: the node that stands for what is written: a copy, or the call itself.
        """
        chain = list(self.chain(receivers))
        if not any(self.is_made(value) for value in chain):
            return False
        if filling.kind == "filling":
            self.filled[id(filling)] = join(self.filled.get(id(filling), ()), receivers)
        changed = False
        for value in chain:
            writes = self.writes.setdefault(id(value), [])
            if not writes or writes[-1].filling is not filling or writes[-1].stack != stack:
                writes[:] = [one for one in writes if one.filling is not filling]
                writes.append(Write(stack, filling))
                changed = True
        return changed

    def write_items(self, base: Values, values: Values) -> None:
        """Note what is assigned to items of tensors: what reads them comes from it, too."""
        assigned = [value for value in values if isinstance(value, Opaque)]
        for value in self.chain(base) if assigned else ():
            if self.is_new(value) and value not in assigned:
                value.written = join(value.written, assigned)

    def read(self, values: Values, stack: Stack) -> Values:
        """What the values hold for a reader within the frames of a stack."""
        if not self.writes or not any(id(value) in self.writes for value in values):
            return values
        found: list[Value] = []
        for value in values:
            for write in reversed(self.writes.get(id(value), ())):
                found.append(write.filling)
                if is_done(write.stack, stack):
                    break
            else:
                found.append(value)
        return join(found)

    def is_made(self, value: Opaque) -> bool:
        """Whether a value is a tensor that a known function has made."""
        return any(
            isinstance(callee, External) and callee.name in self.words.makers
            for callee in value.callee
        )

    def is_new(self, value: Opaque) -> bool:
        """Whether a value is a tensor that was made for itself, maybe like another."""
        return self.is_made(value) or any(
            isinstance(callee, (External, Opaque)) and callee.name in self.words.alike
            for callee in value.callee
        )

    def chain(self, values: Values) -> Iterator[Opaque]:
        """The values that share the memory of others, down to where it was made."""
        seen: set[int] = set()
        pending: list[Value] = list(values)
        while pending:
            value = pending.pop()
            if id(value) in seen or not isinstance(value, Opaque):
                continue
            seen.add(id(value))
            if value.kind == "filling":
                pending.extend(self.filled.get(id(value), ()))
                continue
            yield value
            if value.kind == "attribute" and value.name in self.words.memory:
                pending.extend(value.operands[0])
            for callee in value.callee if value.kind == "call" else ():
                if isinstance(callee, External) and callee.name in self.words.wrappers:
                    for argument in value.arguments.items[:1]:
                        pending.extend(argument.values)
                if isinstance(callee, Opaque) and callee.kind == "attribute":
                    if callee.name in self.words.same_memory or self.concerns(callee.name):
                        pending.extend(callee.operands[0])


def is_done(writer: Stack, reader: Stack) -> bool:
    """Whether a reader comes to its place only past a writer, in the order of the run."""
    around = {id(frame.node) for frame in reader if isinstance(frame, Loop)}
    arms = {frame for frame in reader if isinstance(frame, Branch)}
    return all(
        frame in arms if isinstance(frame, Branch) else id(frame.node) in around
        for frame in writer
        if isinstance(frame, (Branch, Loop))
    )
