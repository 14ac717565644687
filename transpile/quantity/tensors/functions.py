"""The quantities of what functions and methods of tensors give."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque, Sequence, Values
from transpile.plan.graph import called_names, method_calls
from transpile.records import replace

from .. import algebra, domain
from ..domain import Duty, Kind, Pending, Quantity
from ..further import argued, unread
from ..numbers import Numbers, guarded
from ..operations import (
    ADDITIONS,
    ALONG,
    ARRAY_WORDS,
    BATCHED_PRODUCTS,
    CONCATENATIONS,
    CUTS,
    DIAGONALS,
    ELEMENTWISE,
    FACTORIES,
    GUARDS,
    LIKE,
    LISTING,
    MASKS,
    MATRIX_PRODUCTS,
    MEANS,
    NEGATIONS,
    NEUTRAL_METHODS,
    NUMBERS,
    OVER_ALL,
    PAIRWISE,
    PICKING,
    PRODUCTS,
    QUOTIENTS,
    REFILLS,
    REORDERS,
    SAME,
    SCATTERS,
    SELECTIONS,
    SPLITS,
    SUMS,
    TENSOR_TYPES,
    TEXTS,
)
from ..sample_axis.dimensions import (
    ACROSS,
    along,
    concatenated,
    couples,
    is_elementwise_pair,
    is_plain_mean,
    laid_side_by_side,
    reduced_over,
    reordered,
    scattered,
    selected_mean,
    split,
)
from ..sample_axis.pieces import handed
from ..sample_axis.shapes import GROUPED, RESHAPES, SPREADING, Given, integer, reshaped, spread
from .places import Places
from .products import pairwise, product

SEVERAL = "it holds numbers that grow with the batch beside others that do not"


class Tensors(Numbers, Places):
    """The part of the analysis that knows the vocabulary of tensors."""

    def applied(
        self, word: str, tensor: Quantity, value: Opaque, given: Given, name: str = ""
    ) -> Quantity:
        """A function or method of the vocabulary on a tensor, whatever else it is told by.

        See :meth:`operated` for the arguments.
        """
        found = self.operated(word, tensor, value, given, name)
        plain = self.vocabulary.operation(word)
        if plain in ELEMENTWISE or plain in GUARDS:
            return found
        return argued(self, word, found, unread(plain, value, given))

    def operated(
        self, word: str, tensor: Quantity, value: Opaque, given: Given, name: str = ""
    ) -> Quantity:
        """A function or method of the vocabulary on a tensor.

        Args:
            word: its last word.
            tensor: the quantity of what it works on.
            value: the call.
            given: the arguments behind the tensor.
            name: the dotted name of a function; empty for a method.
        """
        numeric = name.startswith(("numpy.", "math.", "scipy."))
        plain = ARRAY_WORDS.get(word, "") if numeric else self.vocabulary.operation(word)
        others = [self.look(values) for values in given.positional()]
        named = given.get("other", None)
        if named:
            others.insert(0, self.look(named))
        if plain in LISTING and self.holds_several_degrees(handed(value)):
            return domain.unknown(SEVERAL, whole=True)
        if plain in TENSOR_TYPES and self.is_size(value):
            return self.made(plain, tensor, value, name)
        if plain in LISTING and self.lists_places(handed(value)):
            return domain.sample(content="place")
        if plain in NEUTRAL_METHODS:
            return domain.equal(tensor=False)
        if plain in ("size", "numel", "nelement"):
            return self.size(plain, tensor, given)
        if not name and word.endswith("_") and plain in REFILLS:
            return domain.sample(dim=tensor.dim) if tensor.kind is Kind.SAMPLE else domain.equal()
        if not name and plain == "resize":
            return self.made("empty", tensor, value, name)
        if not name and plain == "resize_as" and others:
            return self.made("empty_like", others[0], value, name)
        if plain in LIKE or (plain in FACTORIES and (name or tensor.kind is not Kind.PART)):
            return self.made(plain, tensor, value, name)
        if plain in RESHAPES:
            if tensor.kind is not Kind.SAMPLE:
                return tensor
            if plain in ("view", "reshape") and self.regroups(tensor, given, value):
                return domain.unknown(GROUPED.format(plain))
            shaped = reshaped(plain, tensor, given, self.look, self.vocabulary.sizes_kept)
            axis = self.batch_axis(plain, given) if tensor.dim == 0 else None
            return shaped if axis is None else replace(shaped, dim=axis)
        if plain in REORDERS:
            return reordered(plain, tensor, given)
        if plain == "mean" and tensor.selection and is_plain_mean(value, given):
            return selected_mean(tensor, value)
        if plain in SUMS or plain in MEANS:
            within = self.unnested(plain, tensor, value, given)
            return reduced_over(plain, within or tensor, given)
        if plain in ("max", "min") and others and is_elementwise_pair(given):
            return guarded(plain, [tensor, *others]) or algebra.nonlinear(plain, tensor, *others)
        if plain in OVER_ALL or plain in ALONG:
            if plain in self.vocabulary.flattening or (numeric and plain in ("cumsum", "cumprod")):
                if given.dims() == () and tensor.kind is Kind.SAMPLE:
                    return domain.unknown(ACROSS.format(word))
            return along(plain, tensor, given, others)
        if plain in DIAGONALS:
            return domain.unknown(ACROSS.format(plain)) if tensor.kind is Kind.SAMPLE else tensor
        if plain in CONCATENATIONS:
            if not any(isinstance(one, Sequence) for one in handed(value)) and others:
                return self.joined(plain, [tensor, *others], given)
            listed = [
                id(one) in self.plan.samples or self.is_picked_by_samples(one)
                for one in handed(value)
            ]
            if plain == "stack" and listed and all(listed):
                return laid_side_by_side(tensor, given)
            parts = [
                self.look(element)
                for one in handed(value)
                for element in (one.elements if isinstance(one, Sequence) else ())
            ]
            return concatenated(plain, tensor, given, parts)
        if word == "join" and tensor.kind is not Kind.SAMPLE and others:
            # Texts in a row: each sample has as many letters as it likes.
            first = others[0]
            return replace(first, selection=True, dim=0) if first.kind is Kind.SAMPLE else first
        if word in TEXTS and tensor.kind is Kind.SAMPLE:
            return tensor
        if plain in SPLITS:
            return split(plain, tensor, given, lambda: self.joins.are_batches(plain, value))
        if plain in GUARDS:
            return self.clamped(plain, tensor, given)
        if plain in ADDITIONS:
            return self.with_factor(plain, tensor, others, given)
        if plain in PRODUCTS:
            return algebra.multiply(tensor, others[0]) if others else tensor
        if plain == "add_all":
            return self.summed_up([tensor, *others], value)
        if plain == "weighting":
            return others[0] if others else tensor
        if plain == "scale":
            factor, more = given.get("scale", 0), given.get("bias", 1)
            scaled = algebra.multiply(tensor, self.look(factor)) if factor else tensor
            return algebra.add(scaled, self.look(more)) if more else scaled
        if plain in QUOTIENTS:
            return self.quotient(tensor, value, given)
        if plain in NEGATIONS:
            return tensor
        if plain == "pow" and others:
            return self.power(tensor, given.positional()[0], handed(value))
        if plain in PAIRWISE:
            return pairwise(tensor, others)
        if plain in MATRIX_PRODUCTS or plain in BATCHED_PRODUCTS or plain == "einsum":
            return product(plain, tensor, others, value, given, self.look)
        if plain in SELECTIONS:
            if tensor.kind is Kind.SAMPLE:
                return replace(tensor, selection=True, dim=0, content="")
            return tensor
        if plain == "pad_packed_sequence":
            return replace(tensor, selection=False)
        if plain == "pad_sequence":
            return tensor
        if plain in SAME:
            if tensor.independent and plain in (*SPREADING, "expand_as", "view_as"):
                at = self.spread_over_samples(others)
                if at is not None:
                    return domain.sample(tensor.gradient, dim=at)
            spread_out = spread(plain, tensor, given, self.look)
            return self.same(plain, spread_out, value)
        if plain in CUTS:
            return tensor.without_gradient()
        if plain in SCATTERS and tensor.kind is not Kind.SAMPLE:
            found = self.put_together(plain, value, given)
            if found is not None:
                return found
        if tensor.kind is Kind.SAMPLE and couples(plain, tensor, given):
            return domain.unknown(ACROSS.format(plain))
        if plain in ELEMENTWISE:
            return self.elementwise(plain, tensor, others, value, given)
        if tensor.independent and all(one.independent for one in self.given(value)):
            return domain.equal(gradient=tensor.gradient)
        if tensor.kind is Kind.UNKNOWN:
            return tensor
        if tensor.kind is Kind.NOTHING and not self.given(value):
            return domain.equal(tensor=False)
        return self.nothing_known_of(word, tensor, value, name)

    def with_factor(
        self, word: str, tensor: Quantity, others: list[Quantity], given: Given
    ) -> Quantity:
        """``a.add(b, alpha=...)``: one of the two may have a factor."""
        if not others:
            return tensor
        other = others[0]
        factor = given.get("alpha", None)
        if factor:
            scaled = self.look(factor)
            if word == "rsub":
                tensor = algebra.multiply(tensor, scaled)
            else:
                other = algebra.multiply(other, scaled)
        return algebra.add(tensor, other)

    def holds_several_degrees(self, values: Values) -> bool:
        """Whether a list has numbers that grow with the batch beside others that do not."""
        for value in values:
            listed = value.elements if isinstance(value, Sequence) else ()
            found = [one for one in map(self.look, listed) if one.kind in (Kind.EQUAL, Kind.PART)]
            if len({one.degrees for one in found}) > 1:
                return True
        return False

    def joined(self, word: str, parts: list[Quantity], given: Given) -> Quantity:
        """Tensors in one, which are given one by one."""
        found = parts[0]
        for one in parts[1:]:
            found = algebra.join(found, one)
        return concatenated(word, found, given, parts)

    def summed_up(self, parts: list[Quantity], value: Opaque) -> Quantity:
        """The sum of several tensors, given one by one or in a list."""
        if any(isinstance(one, Sequence) for one in handed(value)):
            return self.summed(handed(value))
        found = domain.NOTHING
        for one in parts:
            found = algebra.add(found, one)
        return found

    def spread_over_samples(self, sizes: list[Quantity]) -> int | None:
        """Where a tensor counts the samples that is repeated for each of them; None for others."""
        for position, size in enumerate(sizes):
            if size.kind in (Kind.SHAPE, Kind.SAMPLE):
                return size.dim or 0
            if size.is_count:
                return position
        return None

    def clamped(self, word: str, tensor: Quantity, given: Given) -> Quantity:
        """``x.clamp(min=..., max=...)``."""
        lower = given.get("min", 0 if word != "clamp_max" else None) or given.get("a_min", None)
        upper = given.get("max", {"clamp_max": 0, "clamp_min": None}.get(word, 1))
        upper = upper or given.get("a_max", None)
        bounds = [self.look(values) for values in (lower, upper) if values]
        has_upper = bool(upper) and upper != (Constant(None),)
        return algebra.bounded(word, tensor, bounds, below=bool(lower) and not has_upper)

    def unnested(self, word: str, tensor: Quantity, value: Opaque, given: Given) -> Quantity | None:
        """The samples of a mean of means, or a sum of sums, that is one over all of them.

        Along which dimension the inner one goes does not matter then.
        """
        inner = handed(value)
        if tensor.kind is not Kind.UNKNOWN or given.dims() != () or len(inner) != 1:
            return None
        names = {name for name, _ in method_calls(inner[0])} | {
            name.rpartition(".")[2]
            for name in called_names(inner[0])
            if name.startswith(self.vocabulary.tensors) and name.count(".") == 1
        }
        if names != {word} or word not in ("mean", "sum"):
            return None
        base = self.look(handed(inner[0])) if isinstance(inner[0], Opaque) else domain.NOTHING
        return base if base.kind is Kind.SAMPLE and not base.selection else None

    def same(self, word: str, tensor: Quantity, value: Opaque) -> Quantity:
        """What gives its argument back, perhaps as a number."""
        found = tensor.without_gradient() if word in CUTS else replace(tensor, bounded=None)
        if word in MASKS and found.kind is Kind.SAMPLE:
            return replace(found, content="bool")
        return self.as_number(found, value) if word in NUMBERS else found

    def quotient(self, tensor: Quantity, value: Opaque, given: Given) -> Quantity:
        """``a.div(b)``."""
        ordered = value.arguments.positional()[given.offset :]
        other = value.arguments.keyword("other") or value.arguments.keyword("y")
        other = other or (ordered[0] if ordered else None)
        if other is None:
            return tensor
        pending = (
            Pending(Duty.DENOMINATOR, other.node, value.module) if other.node is not None else None
        )
        return algebra.divide(tensor, self.look(other.values), pending)

    def elementwise(
        self, word: str, tensor: Quantity, others: list[Quantity], value: Opaque, given: Given
    ) -> Quantity:
        """What is applied to each element."""
        if word in ("gather", "index_select", "take_along_dim", "scatter", "scatter_add"):
            at = given.get("dim", 0)
            along = integer(at) if at else given.default or 0
            index = given.get("index", 1)
            picks = self.look(index) if index else domain.equal()
            if word in PICKING and along is not None and tensor.kind is Kind.SAMPLE:
                if tensor.may_count_along(along) and (
                    picks.kind is not Kind.SAMPLE or along == tensor.dim
                ):
                    return domain.unknown(ACROSS.format(word))
                tensor = replace(tensor, rank=max(tensor.rank, picks.rank, along + 1))
            others = [picks] if word in PICKING else others[1:]
        if word == "embedding" and others:
            return (
                replace(domain.sample(gradient=True), dim=others[0].dim)
                if (others[0].kind is Kind.SAMPLE)
                else tensor
            )
        if word in ("sign", "sgn") and tensor.kind is Kind.SAMPLE and tensor.degree is not None:
            tensor = tensor.scaled(-tensor.degree)
        keywords = [
            self.look(argument.values)
            for argument in value.arguments.items
            if argument.keyword not in (None, "dim", "out", "generator", "training", "dtype")
        ]
        if word == "masked_fill" and tensor.kind is Kind.PART:
            return domain.unknown(f"'{word}' of a number over the batch", whole=True)
        found = algebra.nonlinear(f"'{word}'", tensor, *others, *keywords)
        if found.kind is Kind.SAMPLE and word in MASKS:
            return replace(found.without_gradient(), content="bool")
        return found

    def put_together(self, word: str, value: Opaque, given: Given) -> Quantity | None:
        """Samples that are put at places of a tensor that has no row for each of them."""
        if word == "index_put":
            adds = given.get("accumulate", 2) == (Constant(True),)
            word = "index_add" if adds else word
            index, source = self.look(given.get("indices", 0)), self.look(given.get("values", 1))
        elif integer(given.get("dim", 0)) != 0:
            return None
        else:
            index = self.look(given.get("index", 1))
            values = given.get("src", 2) or given.get("source", 2) or given.get("value", 2)
            source = self.look(values)
        bases = (
            [receiver for _, receiver in method_calls(value)]
            if not given.offset
            else [item.values for item in value.arguments.items[:1]]
        )
        onto_zeros = all(
            any(name.rpartition(".")[2] in ("zeros", "zeros_like") for name in called_names(one))
            or any(name == "new_zeros" for name, _ in method_calls(one))
            for base in bases
            for one in base
        )
        return scattered(word, index, source, onto_zeros)

    def batch_axis(self, plain: str, given: Given) -> int | None:
        """Along which axis a view has as many entries as the batch has samples, if it says so."""
        shape = given.positional() if plain in ("view", "reshape") else []
        return 0 if shape and self.is_batch_size(shape[0]) else None

    def nothing_known_of(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A function or method that the vocabulary lacks."""
        found = algebra.unknown_among(tensor, *self.given(value))
        return found or domain.unknown(f"nothing is known of {name or repr(word)}")
