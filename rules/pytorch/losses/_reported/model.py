"""What the search for reported numbers finds."""

from __future__ import annotations

from enum import Enum

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Value, Values
from transpile.quantity.asking import Kind, Pending, Quantity
from transpile.records import dataclass, field


class Change(Enum):
    """What becomes of a place."""

    MEAN = "mean"
    SUM = "sum"
    COUNT = "count"
    DENOMINATOR = "denominator"
    SHARED_SUM = "shared sum"
    SHARED_COUNT = "shared count"


@dataclass(frozen=True, eq=False)
class Part:
    """One thing that is reported, or that a decision depends on.

    Args:
        values: what it may be.
        node: the expression; None where it is kept in an object.
        module: where that stands.
        event: what reports it.
        decides: it is part of a condition.
    """

    values: Values
    node: cst.BaseExpression | None
    module: Module
    event: Event
    decides: bool = False


@dataclass(eq=False)
class Leaf:
    """A place where a number of this process's batch is turned into that of the global batch.

    Args:
        module: where it is.
        node: the tensor or number to reduce, or the count to multiply.
        degree: of the tensor over the batch.
        change: what becomes of it.
        whole_degree: its degree once all counts that it is made of are those of all processes.
        inner: the counts that it is made of, by the identity of their node.
        whole: it must become that of the global batch; else an average over processes is enough.
        event: what reports it.
        pending: for a denominator, the place to rewrite.
        evaluates: it is reached with other batches than those of training, too.
        loader: the text of the loader that its batch comes from, where both reach it.
        plain: it is a plain number rather than a tensor.
        cuts: the ``int`` that makes a number of the tensor, and would cut an average off.
        enters: it gets into an object or a list there.
    """

    module: Module
    node: cst.BaseExpression
    degree: int
    change: Change
    event: Event
    whole_degree: int = 0
    inner: frozenset[int] = frozenset()
    whole: bool = False
    pending: Pending | None = None
    evaluates: bool = False
    loader: str = ""
    plain: bool = False
    cuts: cst.Name | None = None
    enters: bool = False


@dataclass(frozen=True, eq=False)
class Group:
    """A reported part and the places where its numbers leave the batch."""

    part: Part
    quantity: Quantity
    leaves: tuple[Leaf, ...]

    @property
    def nodes(self) -> set[int]:
        """The identities of the places."""
        return {id(leaf.node) for leaf in self.leaves}

    @property
    def is_ratio(self) -> bool:
        """Whether the part stays the same where all of its sums and counts are averages."""
        linear = self.quantity.kind in (Kind.EQUAL, Kind.PART)
        return linear and self.quantity.degrees == frozenset({0})


@dataclass(frozen=True, eq=False)
class Doubt:
    """Something reported that cannot be turned into a number of the global batch.

    Args:
        module: where it is.
        node: the expression, or the call that reports it.
        reason: why.
        samples: it is no number but some of the samples themselves.
    """

    module: Module
    node: cst.CSTNode
    reason: str
    samples: bool = False


@dataclass(eq=False)
class Reported:
    """Everything that is reported of training batches.

    Args:
        leaves: the places to change, by the identity of their node.
        done: what is taken over the processes already, by the identity of the node.
        doubts: what must be looked at, by the identity of the node.
        numbers: the values that are reported and depend on the samples.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    done: dict[int, Part] = field(default_factory=dict)
    doubts: dict[int, Doubt] = field(default_factory=dict)
    numbers: list[Value] = field(default_factory=list)

    def together(self) -> set[int]:
        """The expressions in which every process will take part, by the identity of their node."""
        counts = (Change.COUNT, Change.SHARED_COUNT)
        return {id(leaf.node) for leaf in self.leaves.values() if leaf.change not in counts}
