"""Code behind loops that the analysis takes for endless, so that no rule has looked at it.

What stands on an arm that a known value rules out is another matter: this run does not come there.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.plan.model import Plan
from transpile.rule import Remark


def unreached(plan: Plan) -> Iterator[Remark]:
    """A remark for the first call in each function that runs but never comes past a loop."""
    facts = plan.facts
    if facts.left_out:
        first = facts.left_out[0]
        yield Remark.warn(
            "DT011",
            first,
            f"nothing in sight calls this function and {len(facts.left_out) - 1} others, which are "
            "too much to be looked at",
            "see whether they print, write or train, and convert that by hand",
        )
    entered = {id(frame.function.node) for event in facts.events for frame in event.calls()}
    for module in facts.modules.values():
        told: set[int] = set()
        for call, function in calls_in(module):
            if function is None and not module.is_entry:
                # What stands under a test of the module's name runs in a script alone.
                continue
            if function is not None and id(function) not in entered:
                continue
            if id(function) in told or is_reached(facts, call):
                continue
            if follows_loop(facts, module, call):
                told.add(id(function))
                yield Remark.warn(
                    "DT011",
                    (module, call),
                    "no run seems to come here, so that nothing was looked at from here on",
                    "see whether it prints, writes or trains, and convert that by hand",
                )


def calls_in(module: Module) -> Iterator[tuple[cst.Call, cst.CSTNode | None]]:
    """The calls of a module in the order of the text, each with the innermost function around."""
    for call in module.source.nodes_of(cst.Call):
        around = (
            outer
            for outer in module.source.parents(call)
            if type(outer) is cst.FunctionDef or type(outer) is cst.Lambda
        )
        yield call, next(around, None)


def is_reached(facts: Facts, call: cst.Call) -> bool:
    """Whether some run comes to a call."""
    return bool(facts.values_of(call)) or id(call) in facts.called


def follows_loop(facts: Facts, module: Module, call: cst.Call) -> bool:
    """Whether a call is the business of a statement behind a loop that runs beside it."""
    inner: cst.CSTNode = call
    for outer in module.source.parents(call):
        if isinstance(outer, (cst.IndentedBlock, cst.Module)):
            before = list(outer.body[: list(outer.body).index(inner)])  # type: ignore[arg-type]
            if any(isinstance(statement, cst.If) for statement in before):
                # An arm that always leaves may stand before it.
                return False
            loops = [each for each in before if isinstance(each, (cst.For, cst.While))]
            return any(runs(facts, loop) for loop in loops)
        if isinstance(outer, (cst.If, cst.IfExp, cst.BooleanOperation, cst.Lambda)):
            return False
        inner = outer
    return False


def runs(facts: Facts, loop: cst.For | cst.While) -> bool:
    """Whether some run comes to a loop's body."""
    return any(
        is_reached(facts, node) for node in descendants(loop.body) if isinstance(node, cst.Call)
    )
