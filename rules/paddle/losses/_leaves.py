"""What of a script's numbers is taken over all processes, and what stays that of one of them."""

from __future__ import annotations

from enum import Enum

import libcst as cst

from transpile.facts.module import Module
from transpile.records import dataclass, field
from transpile.rules.paddle.losses._shares import Shares


class Change(Enum):
    """What is done to a number."""

    MEAN = "reduce_mean"
    SUM = "reduce_sum"
    COUNT = "count"


@dataclass(frozen=True, eq=False)
class Leaf:
    """An expression to take over all processes.

    Args:
        module: where it stands.
        node: the expression.
        change: what is done to it.
    """

    module: Module
    node: cst.BaseExpression
    change: Change


@dataclass(frozen=True, eq=False)
class Doubt:
    """A number that stays that of one process's share, and why."""

    module: Module
    node: cst.CSTNode
    reason: str


@dataclass(eq=False)
class Numbers:
    """All numbers of a script.

    Args:
        leaves: what is taken over all processes, by the identity of its node.
        doubts: what stays as it is, by the identity of its node.
        shapes: shapes of a share that are shown, by the identity of their node.
        after: the quantities once the leaves are.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    doubts: dict[int, Doubt] = field(default_factory=dict)
    shapes: dict[int, Doubt] = field(default_factory=dict)
    after: Shares | None = None
