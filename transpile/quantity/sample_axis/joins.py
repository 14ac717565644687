"""Tensors that hold several batches, one behind the other, and pieces that are such batches."""

from __future__ import annotations

from collections.abc import Callable

from transpile.facts.values import Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls, walk_back

from .pieces import JOINS, REPEATS, handed, is_plain_size
from .shapes import Given, Look, integer

#: Functions and methods of tensors, by how their arguments are read.
Reading = Callable[[Opaque], Given]
#: How deep joins of joins are followed.
DEPTH = 6
#: Repeat each row by itself: what stands one behind the other is no batch.
INTERLEAVING = frozenset({"repeat_interleave"})
#: What frameworks call the number or the sizes of pieces.
PIECES = (
    "pieces", "chunks", "split_size", "split_size_or_sections", "sections", "num_outputs",
    "indices_or_sections", "num_or_sections",
)  # fmt: skip


class Joins:
    """Counts the batches in tensors.

    Args:
        look: tells what values are.
        reading: how the arguments of a call are read.
        is_batch_size: whether a size is that which a loader is given.
    """

    def __init__(
        self, look: Look, reading: Reading, is_batch_size: Callable[[Values], bool]
    ) -> None:
        self.look = look
        self.reading = reading
        self.is_batch_size = is_batch_size
        # What nets whose branches join again and again would ask over and over.
        self._counted: dict[tuple[int, ...], int | None] = {}
        # What values are made of does not change, however much is known of it; they are kept, so
        # that no others take over their identities.
        self._nearest: dict[tuple[int, ...], tuple[Values, list[tuple[str, Opaque]]]] = {}

    def batches_in(self, values: Values) -> int | None:
        """How many batches a tensor holds, one behind the other; None where that is not known."""
        # What is looked at may be known better than when it was asked last.
        self._counted.clear()
        return self._batches(values, DEPTH)

    def repeats_each(self, values: Values) -> bool:
        """Whether a tensor holds each row several times, before the next one: no batches."""
        return any(
            join_word(value) in INTERLEAVING
            for value in walk_back(values, lambda one: not join_word(one))
        )

    def _batches(self, values: Values, depth: int) -> int | None:
        key = (depth, *map(id, values))
        if key not in self._counted:
            self._counted[key] = self._count(values, depth)
        return self._counted[key]

    def _count(self, values: Values, depth: int) -> int | None:
        found: set[int | None] = set()
        for word, value in self.nearest(values):
            found.add(self.joined(word, value, depth - 1) if depth else None)
        found.discard(1)
        if not found:
            return 1
        return found.pop() if len(found) == 1 else None

    def nearest(self, values: Values) -> list[tuple[str, Opaque]]:
        """The joins that values are made of, without those behind them, and their words."""
        key = tuple(map(id, values))
        if key not in self._nearest:
            words: dict[int, str] = {}

            def goes_on(value: Value) -> bool:
                word = join_word(value)
                if word:
                    words[id(value)] = word
                return not word

            walked = list(walk_back(values, goes_on))
            joins = [
                (words[id(value)], value)
                for value in walked
                if isinstance(value, Opaque) and id(value) in words
            ]
            self._nearest[key] = values, joins
        return self._nearest[key][1]

    def joined(self, word: str, value: Opaque, depth: int) -> int | None:
        """How many batches what a call joins or repeats holds."""
        given, inner = self.reading(value), handed(value)
        if word in INTERLEAVING:
            return None
        if word in REPEATS:
            dim = self.look(inner).dim
            sizes = given.positional()
            times = integer(sizes[dim]) if dim is not None and dim < len(sizes) else None
            own = self._batches(inner, depth)
            return times * own if times is not None and times > 0 and own is not None else None
        parts = self.parts(value, inner)
        if parts is None:
            return None
        dims = given.dims()
        at = dims[0] if dims else 0
        places = {self.look(part).dim for part in parts}
        counts = [self._batches(part, depth) for part in parts]
        if word == "stack":
            return len(parts) if at == 0 and counts.count(1) == len(counts) else None
        if places != {at}:
            return None if None in places or len(set(counts)) > 1 else counts[0]
        return sum(one for one in counts if one is not None) if None not in counts else None

    def parts(self, value: Opaque, inner: Values) -> list[Values] | None:
        """What a call puts together; None where it is not told apart."""
        times, listed = 1, inner
        if len(inner) == 1 and isinstance(inner[0], Opaque) and inner[0].name == "Multiply":
            # The same tensors several times.
            listed = inner[0].operands[0]
            times = integer(inner[0].operands[1]) or 0
        if len(listed) == 1 and isinstance(listed[0], Sequence):
            return list(listed[0].elements) * times if times and not listed[0].rest else None
        own = [item.values for item in value.arguments.positional()]
        return own if len(own) > 1 else None

    def are_batches(self, word: str, value: Opaque) -> bool:
        """Whether the pieces of a tensor, along its samples, are the batches that it holds."""
        batches = self.batches_in(handed(value))
        if batches is None or batches == 1:
            return False
        given = self.reading(value)
        named = [one for name in PIECES if (one := value.arguments.keyword(name)) is not None]
        ordered = value.arguments.positional()[given.offset :]
        values = named[0].values if named else ordered[0].values if ordered else ()
        number = integer(values)
        counts_pieces = word != "split" or "pieces" in given.order
        if number is not None and counts_pieces and not self.is_batch_size(values):
            return number > 0 and batches % number == 0
        if len(values) == 1 and isinstance(values[0], Sequence):
            return not values[0].rest and all(map(self.is_size, values[0].elements))
        return not counts_pieces and self.is_size(values)

    def is_size(self, values: Values) -> bool:
        """Whether a size is the number of samples of a batch, or what is left."""
        if integer(values) == -1 or self.is_batch_size(values):
            return True
        return self.look(values).degree == 1 and all(map(is_plain_size, values))


def join_word(value: Value) -> str:
    """The word by which a call joins or repeats tensors; empty for others."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return ""
    for name in called_names(value):
        if (word := name.rpartition(".")[2]) in JOINS or word in REPEATS:
            return word
    return next((word for word, _ in method_calls(value) if word in REPEATS), "")
