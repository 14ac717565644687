"""Loops that train in one of their phases and evaluate in the others, told apart by a name."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Loop, Stack
from transpile.facts.values import Constant
from transpile.facts.walk import descendants
from transpile.plan.data.sources import Site
from transpile.plan.model import Backward, Plan


def evaluating_phase(plan: Plan, site: Site) -> str:
    """Why a loader may deliver the batches of evaluations, too; empty where it may not.

    Phases that the script lists one by one are followed one by one. Where an option adds to them,
    all of them share one place in the text, and a test of the phase says which of them trains.
    """
    for backward in plan.backwards:
        if any(loader in backward.loaders for loader in site.loaders):
            test = phase_test(plan, backward)
            if test is not None:
                text = backward.event.module.source.code(test)
                return (
                    f"it is a training loader only where '{text}', in a loop over phases: "
                    "evaluations would see one process's share of their data"
                )
    return ""


def phase_test(plan: Plan, backward: Backward) -> cst.BaseExpression | None:
    """The test inside the loop of batches that lets only some phases train."""
    stack, batch_loop = backward.event.stack, backward.batch_loop
    if batch_loop is None or batch_loop not in stack:
        return None
    position = stack.index(batch_loop)
    names = targets(stack[:position])
    for frame in stack[position:]:
        if not isinstance(frame, Branch) or not isinstance(frame.node, cst.If):
            continue
        for node in descendants(frame.node.test):
            if isinstance(node, cst.Name) and node.value in names:
                if is_phase(plan, node):
                    return frame.node.test
    return None


def targets(stack: Stack) -> set[str]:
    """The names that the loops of a stack bind."""
    return {
        node.value
        for frame in stack
        if isinstance(frame, Loop) and isinstance(frame.node, cst.For)
        for node in descendants(frame.node.target)
        if isinstance(node, cst.Name)
    }


def is_phase(plan: Plan, node: cst.Name) -> bool:
    """Whether a name is one of several words."""
    values = plan.facts.values_of(node)
    return len(values) > 1 and all(
        isinstance(value, Constant) and isinstance(value.value, str) for value in values
    )
