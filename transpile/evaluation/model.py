"""What is known of an evaluation loop."""

from __future__ import annotations

from enum import Enum

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.plan.model import Model
from transpile.records import dataclass


class Obstacle(Exception):
    """Why every process has to evaluate all of the data.

    Args:
        node: where that is seen.
        reason: why, in half a sentence.
    """

    def __init__(self, node: cst.CSTNode, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


class Way(Enum):
    """How the totals of the processes become one."""

    SUM = "sum_totals"
    COUNTS = "add_up_counts"
    LIST = "join_lists"
    TENSOR = "join_tensors"
    ARRAY = "join_arrays"


@dataclass(frozen=True)
class Total:
    """Something that a loop adds to, batch by batch.

    Args:
        text: its name, or the attribute, as the script writes it.
        way: how it is put together.
    """

    text: str
    way: Way


@dataclass(frozen=True)
class Meter:
    """An object of the script's own that adds up what it is given.

    Args:
        text: its name.
        sums: the attributes that are added to.
        derived: statements that compute others from these.
        last: attributes that hold what it was given last.
    """

    text: str
    sums: tuple[str, ...]
    derived: tuple[str, ...]
    last: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Forward:
    """A call of a model in a loop.

    Args:
        module: where it stands.
        node: the expression that is the model.
        model: the model.
    """

    module: Module
    node: cst.BaseExpression
    model: Model


@dataclass(frozen=True, eq=False)
class Shared:
    """A loop whose batches can be sharded.

    Args:
        module: where it stands.
        loop: the loop.
        events: its runs.
        loader: the loader in its head.
        totals: what it adds to.
        meters: the objects that it hands numbers to.
        forwards: the calls of models.
    """

    module: Module
    loop: cst.For
    events: tuple[Event, ...]
    loader: cst.BaseExpression
    totals: tuple[Total, ...]
    meters: tuple[Meter, ...]
    forwards: tuple[Forward, ...]


@dataclass(frozen=True, eq=False)
class Whole:
    """An evaluation of which every process does everything.

    Args:
        module: where it stands.
        node: the loop, or what else goes over the data.
        reason: why, in half a sentence.
        line: where that is seen.
    """

    module: Module
    node: cst.CSTNode
    reason: str
    line: int


@dataclass(frozen=True, eq=False)
class Done:
    """A loop whose batches are sharded already."""

    module: Module
    node: cst.CSTNode


Evaluation = Shared | Whole | Done
