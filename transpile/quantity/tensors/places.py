"""Tensors with a row for each place in a share of the batch, whatever sample stands there.

``bank[: x.size(0)]`` pairs the first rows of something that all processes have alike with the
samples of this process: of the whole batch, each of them stands at another place.
"""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Opaque, Value, Values
from transpile.plan.data.written_rows import ONE_NUMBER, written_rows
from transpile.plan.graph import called_names, method_calls

from ..domain import Kind, Quantity
from ..operations import words
from ..sample_axis.pieces import indexed_stores, is_plain_size
from ..sizes import Sizes

#: Make tensors whose rows are all alike.
ALIKE = words("zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full")
#: Methods and functions that leave rows alike.
KEEPING = words("""
    to cuda cpu float double half long int type type_as clone detach contiguous requires_grad_
    expand repeat unsqueeze squeeze view reshape mul_ add_
    """)
#: Methods that lay as many copies behind each other as they are told.
COPYING = words("repeat repeat_interleave tile")
#: Operators between numbers.
COMPUTED = frozenset({"Add", "Subtract", "Multiply", "FloorDivide", "Divide", "Modulo"})
#: Methods that cut a tensor into parts.
CUTTING = words("split tensor_split chunk narrow")

BY_SHARE = "a number that each process has of its own share picks it"


class Places(Sizes):
    """The part of the analysis that knows what is paired with samples by their place."""

    def cut_by_count(self, value: Opaque) -> bool:
        """Whether a slice takes as many rows as this process has samples, or from there on."""
        node = value.node
        if not isinstance(node, cst.Subscript):
            return False
        part = node.slice[0].slice
        if not isinstance(part, cst.Slice):
            return False
        bounds = [self.plan.facts.values_of(b) for b in (part.lower, part.upper) if b is not None]
        return any(map(self.counts_samples, bounds)) and not self.are_rows_alike(value.operands[0])

    def picked_by_share(self, value: Opaque, index: Quantity) -> str:
        """Why an item may be another one where its index is made of a share; empty where not."""
        if self.are_rows_alike(value.operands[0]):
            return ""
        if index.kind is Kind.UNKNOWN:
            # Not its own reason: what is picked is no sample.
            return BY_SHARE if index.sampled or index.whole else ""
        counts = index.kind is Kind.EQUAL and index.degrees - {0}
        return BY_SHARE if index.kind is Kind.PART or counts else ""

    def counts_samples(self, values: Values) -> bool:
        """Whether a number is made of how many samples this process has."""
        seen: set[int] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            found = self.look_one(value)
            if found.kind is Kind.EQUAL and not found.tensor and found.degrees - {0}:
                return True
            if self.is_batch_size((value,)):
                return True
            if isinstance(value, Opaque) and value.kind == "operation" and value.name in COMPUTED:
                stack.extend(one for operand in value.operands for one in operand)
        return False

    def laid_by_count(self, word: str, value: Opaque, receivers: Values) -> bool:
        """Whether a method lays rows out, or cuts them, by how many samples there are."""
        given = [item.values for item in value.arguments.items]
        if word in CUTTING:
            counted = any(map(self.counts_samples, given))
        elif word in COPYING:
            # As many copies of one row as there are samples are alike.
            counted = any(
                self.counts_samples(one) and not all(map(is_plain_size, one)) for one in given
            )
        else:
            return False
        return counted and not self.are_rows_alike(receivers)

    def are_rows_alike(self, values: Values) -> bool:
        """Whether all rows of some tensors are the same: those of ones, of zeros."""
        return bool(values) and all(map(self.has_rows_alike, values))

    def has_rows_alike(self, value: Value) -> bool:
        """See :meth:`are_rows_alike`."""
        if not isinstance(value, Opaque) or id(value) in indexed_stores(self.plan):
            return False
        if id(value) in written_rows(self.plan, False):
            return False
        if {name.rpartition(".")[2] for name in called_names(value)} & ALIKE:
            return True
        calls = method_calls(value)
        if not calls:
            return False
        return all(
            word in ONE_NUMBER
            or word.rstrip("_") in ALIKE
            or (word.rstrip("_") in KEEPING and self.are_rows_alike(inner))
            for word, inner in calls
        )
