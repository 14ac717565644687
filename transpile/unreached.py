"""Code that the analysis never reaches, so that no rule has looked at it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.rule import Remark


def unreached(plan: Plan) -> Iterator[Remark]:
    """A remark for the first call in each function that runs but never comes to this call."""
    facts = plan.facts
    entered = {id(frame.function.node) for event in facts.events for frame in event.calls()}
    for module in facts.modules.values():
        told: set[int] = set()
        for call, function in calls_in(module):
            if function is None and not module.is_entry:
                # What stands under a test of the module's name runs in a script alone.
                continue
            if function is not None and id(function) not in entered:
                continue
            if id(function) not in told and not is_reached(facts, call):
                told.add(id(function))
                yield Remark(
                    "DT011",
                    Level.WARNING,
                    module,
                    call,
                    "no run seems to come here, so that nothing was looked at from here on",
                    "see whether it prints, writes or trains, and convert that by hand",
                )


def calls_in(module: Module) -> Iterator[tuple[cst.Call, cst.CSTNode | None]]:
    """The calls of a module in the order of the text, each with the innermost function around."""
    for node in module.source.nodes:
        if isinstance(node, cst.Call):
            around = (
                outer
                for outer in module.source.parents(node)
                if isinstance(outer, (cst.FunctionDef, cst.Lambda))
            )
            yield node, next(around, None)


def is_reached(facts: Facts, call: cst.Call) -> bool:
    """Whether some run comes to a call."""
    return bool(facts.values_of(call)) or any(event.node is call for event in facts.calls)
