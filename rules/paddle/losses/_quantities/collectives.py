"""What of a script's values its processes have added up already."""

from __future__ import annotations

from transpile.facts.values import External
from transpile.plan.model import Plan

COLLECTIVES = frozenset({"paddle.distributed.all_reduce", "paddle.distributed.broadcast"})


def adding_up(plan: Plan) -> set[int]:
    """The identities of the functions in which the processes add something up."""
    return {
        id(frame.function.node)
        for event in plan.facts.calls
        if External("paddle.distributed.all_reduce") in event.callee
        for frame in event.calls()
    }


def all_reduced(plan: Plan) -> list[int]:
    """The identities of the values that ``all_reduce`` and ``broadcast`` work on."""
    return [
        id(value)
        for event in plan.facts.calls
        if any(isinstance(c, External) and c.name in COLLECTIVES for c in event.callee)
        for argument in event.arguments.items[:1]
        for value in argument.values
    ]
