"""The quantities of sizes, and of tensors that are made of a size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values, only_constant
from transpile.plan.graph import called_names, identity, method_calls
from transpile.plan.models.widths import layer_widths
from transpile.records import replace

from . import algebra, domain
from .algebra import multiply
from .domain import Kind, Quantity
from .looking import Looking
from .operations import COUNTING, LIKE, POSITIONS, SIZES_ONLY
from .sample_axis.joins import Joins
from .sample_axis.pieces import handed
from .sample_axis.shapes import SOME_SIZE, Given, integer, regroups
from .starts import FILLED

#: Where the sizes begin, of what takes other numbers first.
SIZES_FROM = {"linspace": 2, "normal": 2, "uniform": 2}


class Sizes(Looking):
    """The part of the analysis that knows shapes and what is made from them."""

    def size(self, word: str, tensor: Quantity, given: Given) -> Quantity:
        """``x.size()``, ``x.size(0)``, ``x.numel()``."""
        if word != "size":
            return domain.count() if tensor.kind is Kind.SHAPE else self.counted(tensor, None)
        values = given.get("dim", 0)
        if not values:
            if tensor.kind is Kind.SAMPLE:
                return replace(tensor.without_gradient(), kind=Kind.SHAPE)
            return domain.equal(tensor=False)
        position = integer(values)
        if position is None and tensor.kind is Kind.SAMPLE:
            return domain.unknown(SOME_SIZE)
        return self.counted(tensor, position)

    def made(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A new tensor of a shape, times the number that it is filled with."""
        shaped = self.shaped(word, tensor, value, name)
        filling = value.arguments.get("fill_value", 1) if word in FILLED else None
        if filling is None and word == "full_like" and not name:
            filling = value.arguments.get("fill_value", 0)
        return shaped if filling is None else multiply(shaped, self.look(filling.values))

    def shaped(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A new tensor of a shape, whatever stands in it."""
        content = "index" if word in POSITIONS else ""
        if word in COUNTING:
            content = "place"
        if word in LIKE:
            if tensor.kind is Kind.SAMPLE:
                return domain.sample(dim=tensor.dim)
            return domain.equal()
        sizes = value.arguments.positional()[SIZES_FROM.get(word, 0) :]
        sizes = sizes[:1] if word in FILLED else sizes
        if self.pairs(word, [argument.values for argument in sizes]):
            return domain.unknown(algebra.PAIRS, certain=True)
        for argument in value.arguments.items:
            found = self.shape_of(argument.values, 0)
            if found is not None:
                return domain.sample(dim=found, content=content)
        for position, argument in enumerate(sizes):
            if self.look(argument.values).degree == 1 or self.is_batch_size(argument.values):
                dim = position if word in SIZES_ONLY else 0
                return domain.sample(dim=dim, content=content)
        for argument in value.arguments.items:
            if argument.keyword == "size" and self.look(argument.values).degree == 1:
                return domain.sample(content=content)
        if word in COUNTING and any(
            self.follows_size(argument.values) for argument in value.arguments.items
        ):
            return domain.sample(content=content)
        if name.startswith(("numpy.", *self.vocabulary.tensors)):
            known = [one for one in self.given(value) if one.kind is Kind.UNKNOWN]
            if known:
                return known[0]
        return domain.equal()

    def pairs(self, word: str, sizes: list[Values]) -> bool:
        """Whether a tensor has an entry for every pair of samples."""
        listed = [
            element
            for size in sizes
            for value in size
            for element in (value.elements if isinstance(value, Sequence) else (size,))
        ]
        counting = sum(
            found.kind is Kind.EQUAL and found.degree == 1 for found in map(self.look, listed)
        )
        return counting > (word != "eye") and (word in SIZES_ONLY or word in ("eye", *FILLED))

    def shape_of(self, values: Values, depth: int) -> int | None:
        """Where a shape counts samples; None where it counts none."""
        for value in values:
            if isinstance(value, Sequence) and depth == 0:
                for position, element in enumerate((*value.elements, value.rest)):
                    found = self.look(element)
                    if found.kind is Kind.SHAPE:
                        return found.dim
                    if found.kind is Kind.EQUAL and found.degree == 1:
                        return position
                    if self.is_batch_size(element):
                        return position
            elif self.look((value,)).kind is Kind.SHAPE:
                return self.look((value,)).dim
        return None

    def fit(self, compared: Iterable[Values]) -> bool:
        """Whether shapes are compared with each other: those of shares fit as whole ones do."""
        return all(self.is_shape(one) or only_constant(one) == Constant(None) for one in compared)

    def is_shape(self, values: Values) -> bool:
        """Whether values are shapes of tensors of samples, or made of the number of samples."""
        return bool(values) and all(self.is_made_of_shape(value) for value in values)

    def is_made_of_shape(self, value: Value) -> bool:
        """See :meth:`is_shape`."""
        if isinstance(value, Sequence):
            return any(
                found.kind is Kind.SHAPE or (found.kind is Kind.EQUAL and found.degree == 1)
                for found in map(self.look, (*value.elements, value.rest))
            )
        if self.look((value,)).kind is Kind.SHAPE:
            return True
        if not isinstance(value, Opaque) or value.kind not in ("call", "operation"):
            return False
        given = [argument.values for argument in value.arguments.items]
        return any(map(self.is_shape, (*value.operands, *given)))

    def regroups(self, tensor: Quantity, given: Given, value: Opaque) -> bool:
        """Whether a view may put several samples of a batch into one row."""
        shape = given.positional()
        batches = self.joins.batches_in(handed(value))
        if any(self.is_batch_size(values) for values in shape):
            return False
        first = integer(shape[0]) if shape else None
        if batches is None:
            # Rows that are repeated each lie beside each other: none of the groups is a batch.
            told = first is not None and first > 1 and tensor.dim == 0
            return told and self.joins.repeats_each(handed(value))
        if batches > 1 and (first is None or first < 1 or batches % first == 0):
            return False
        rows = self.rows_of_view(value, given) if tensor.dim == 0 else None
        return regroups(tensor, shape, rows, layer_widths(self.plan), self.look)

    def is_joined(self, values: Values) -> bool:
        """Whether a tensor holds several batches, one behind the other, or may hold them."""
        return self.joins.batches_in(values) != 1

    def repeats_each(self, values: Values) -> bool:
        """Whether a tensor holds each row several times, before the next one."""
        return self.joins.repeats_each(values)

    @cached_property
    def joins(self) -> Joins:
        """What counts the batches in tensors."""
        return Joins(self.look, self.read, self.is_batch_size)

    def read(self, value: Opaque) -> Given:
        """The arguments of a function or method of tensors."""
        methods = method_calls(value)
        names = [*(word for word, _ in methods), *called_names(value)]
        word = names[0].rpartition(".")[2] if names else ""
        return self.given_to(value, 0 if methods else 1, word)

    def given_to(self, value: Opaque, offset: int, word: str) -> Given:
        """The arguments of an operation behind its tensor."""
        own = word.rstrip("_")
        words = self.vocabulary
        return Given(
            value.arguments, offset, words.parameters.get(own, ()), words.defaults.get(own)
        )

    def follows_size(self, values: Values) -> bool:
        """Whether a number is computed from how many samples this process has."""
        found = self.look(values)
        return found.kind is Kind.EQUAL and not found.tensor and found.degrees != {0}

    def lists_places(self, values: Values) -> bool:
        """Whether a list has an entry for each sample of this process, by where it stands."""
        return any(
            isinstance(value, Sequence)
            and any(
                self.follows_size(limit.values) or self.is_batch_size(limit.values)
                for counted in self.ranges_of(value)
                for limit in counted.arguments.items
            )
            for value in values
        )

    def ranges_of(self, made: Sequence) -> Iterator[Opaque]:
        """The ranges that a list is made of."""
        node = made.node
        over: list[cst.BaseExpression] = []
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            over = [node.for_in.iter]
        elif isinstance(node, cst.Call):
            over = [argument.value for argument in node.args]
        for value in (value for each in over for value in self.plan.facts.values_of(each)):
            if isinstance(value, Opaque) and "builtins.range" in called_names(value):
                yield value

    def is_batch_size(self, values: Values) -> bool:
        """Whether a size is what a training loader is given as its batch size.

        As a shape it is that of the process's own batch; as a number it stays what it was.
        """
        return any(identity(value) in self.batch_sizes for value in values)

    def is_size(self, value: Opaque) -> bool:
        """Whether a tensor's type is given a size rather than data."""
        ordered = value.arguments.positional()
        return len(ordered) > 1 or any(
            one.kind is Kind.SHAPE
            or (one.kind is Kind.EQUAL and one.degree == 1 and not one.tensor)
            for one in (self.look(argument.values) for argument in ordered)
        )
