"""Numbers that each process draws for itself, and what is made of them and of the batch.

From the training on, each process has random numbers of its own. A number of the batch that is
multiplied by one of them, as by the share of one of two mixed inputs, can be taken over the
processes behind the product alone: each of them has another factor.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.module import Module
from transpile.facts.values import Opaque, Sequence, Value, Values
from transpile.plan.graph import Search, called_names, made_by, method_calls, parents, walk_back
from transpile.quantity.asking import Kind, Pending

from .counts import computes
from .inquiry import Inquiry

#: Sources of random numbers beside those that weights and data are drawn from.
FURTHER = (("torch.distributions.", "torch"), ("scipy.stats.", "numpy"))
#: Methods that draw from what a library's object describes.
DRAWING = frozenset({"sample", "rsample", "sample_n", "rvs"})
PRODUCTS = frozenset({"Multiply", "Divide"})
#: What else may be made of both, and is no number of all processes in any place.
CURVES = frozenset({"FloorDivide", "Modulo", "Power"})


class Chance:
    """Finds the products of numbers of the batch and of numbers that each process draws for itself.

    Args:
        inquiry: what is known already.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        # Where processes part is found out by those who ask what is reported.
        from transpile.rules.pytorch.randomness._random_draws import Draws

        self.analysis = inquiry.analysis
        draws = Draws(inquiry.plan)
        filling = inquiry.plan.table.filling_methods
        #: The calls that give each process a number of its own, by the identity of their node.
        self.private: set[int] = set()
        sources = Sources(filling)
        for event in inquiry.plan.facts.calls:
            for value in event.result:
                source = sources.of(value)
                if source is not None and (not source or not draws.equal(event, source)):
                    self.private.add(id(value))

    def products(self, values: Values, pending: Pending) -> Iterator[tuple[Module, Opaque]]:
        """The outermost products of a number that leaves the tensors and of chance.

        Args:
            values: what is reported.
            pending: where the number leaves the tensors.
        """
        seen: set[int] = set()
        stack = list(values) if self.private else []
        while stack:
            value = stack.pop()
            if id(value) in seen or not self.holds((value,), pending):
                continue
            seen.add(id(value))
            if isinstance(value, Opaque) and value.node is pending.node:
                continue
            if isinstance(value, Opaque) and self.is_product(value, pending):
                yield value.module, value
                continue
            for group in parents(value):
                stack.extend(group)

    def is_product(self, value: Opaque, pending: Pending) -> bool:
        """Whether one side of an operation is the number, and another is of chance."""
        if value.kind != "operation" or value.name not in PRODUCTS | CURVES:
            return False
        made = [self.holds(side, pending) for side in value.operands]
        return any(made) and any(
            not of_batch and self.is_private(side)
            for side, of_batch in zip(value.operands, made, strict=True)
        )

    def is_linear(self, value: Opaque, pending: Pending) -> bool:
        """Whether a product grows with the number of the batch in it."""
        if self.analysis.of((value,)).kind is Kind.UNKNOWN:
            return False
        below = value.name == "Divide" and self.holds(value.operands[1], pending)
        return value.name in PRODUCTS and not below

    def holds(self, values: Values, pending: Pending) -> bool:
        """Whether values are made of a number that leaves the tensors at a place."""
        return any(
            pending in self.analysis.of((value,)).pending
            for value in walk_back(values, self.is_unknown)
        )

    def is_unknown(self, value: Value) -> bool:
        """Whether nothing is known of a value, so that it is forgotten what it is made of."""
        found: bool = self.analysis.of((value,)).kind is Kind.UNKNOWN
        return found

    def is_private(self, values: Values) -> bool:
        """Whether a plain number may differ between the processes by chance."""
        if self.analysis.of(values).kind not in (Kind.EQUAL, Kind.NOTHING):
            return False
        return any(id(value) in self.private for value in walk_back(values, passes_on))


def passes_on(value: Value) -> bool:
    """Whether a number is computed of others: what is drawn for data is in no count of batches."""
    if not isinstance(value, Opaque):
        return isinstance(value, Sequence)
    if value.kind == "operation" and value.name == "len":
        return False
    names = called_names(value)
    return computes(value) or any(
        name.startswith("torch.") and not name.startswith("torch.utils.") for name in names
    )


class Sources:
    """Finds what calls draw from.

    Args:
        filling: the methods that fill a tensor with random numbers.
    """

    def __init__(self, filling: frozenset[str]) -> None:
        from transpile.rules.pytorch.randomness._private_chance import differs

        self.filling = filling
        self.own = Search(differs)
        self.described = Search(is_distribution)

    def of(self, value: Value) -> str | None:
        """The source that a call draws from: torch, numpy, random; empty for its own; else None."""
        from transpile.rules.pytorch.randomness._early_draws import DRAWS, NO_DRAWS

        for name in called_names(value):
            for start, source in (*DRAWS, *FURTHER):
                if name.startswith(start) and not name.startswith(NO_DRAWS):
                    return str(source)
        for word, receivers in method_calls(value):
            if self.own.finds(receivers):
                return ""
            if word in self.filling or (word in DRAWING and self.described.finds(receivers)):
                return "torch"
        return None


def is_distribution(value: Value) -> bool:
    """Whether a call makes an object that describes a distribution."""
    return any(name.startswith("torch.distr") for name in made_by(value))
