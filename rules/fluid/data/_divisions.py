"""How the batches of a run are divided, as what reads scripts answers it."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call
from transpile.facts.module import Module
from transpile.facts.values import Opaque
from transpile.plan.flow.ranks import reads_rank_variable
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Division:
    """How the batches of a run are divided.

    Args:
        helper: the helper that divides.
        module: where.
        node: the expression that the helper is put around.
        program: how the program is written that the feed is for; empty for the default one.
        call: the call whose arguments, up to that with the node, the helper takes all; its method
            becomes the one of the next field. None where the helper takes the node alone.
        method: what is called then.
        fixed: the names of what is fed whose size is declared.
    """

    helper: str
    module: Module
    node: cst.BaseExpression
    program: str = ""
    call: cst.Call | None = None
    method: str = ""
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Divided:
    """The batches of a run are divided already, at a node."""

    module: Module
    node: cst.CSTNode


@dataclass(frozen=True, eq=False)
class Undivided:
    """Why the batches of a run cannot be divided.

    Args:
        module: where.
        node: what stands in the way.
        why: the reason.
        advice: what to do by hand.
    """

    module: Module
    node: cst.CSTNode
    why: str
    advice: str


Answer = Division | Divided | Undivided


@query
def reading_rank(plan: Plan) -> set[int]:
    """The functions, by the identity of their node, in which the number of the process is read."""
    found = set()
    for event in plan.facts.calls:
        if any(isinstance(value, Opaque) and reads_rank_variable(value) for value in event.result):
            for frame in event.stack:
                if isinstance(frame, Call):
                    found.add(id(frame.function.node))
    return found
