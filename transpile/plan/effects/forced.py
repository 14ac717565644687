"""Options that have files recreated, though they are there."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Constant
from transpile.facts.walk import descendants
from transpile.plan.effects.missing_files import MissingFiles
from transpile.plan.effects.treatment import Preparation
from transpile.plan.model import Plan


def forced_by(
    plan: Plan, missing: MissingFiles, preparation: Preparation
) -> cst.BaseExpression | None:
    """What makes every process prepare, whether or not a file is missing."""
    first = preparation.statements[0]
    if not isinstance(first, cst.If):
        return None
    making = {id(effect.node) for effect in preparation.effects}
    arms = ((cst.Or, first.body), (cst.And, first.orelse))
    for operator, block in arms:
        if block is None or making.isdisjoint(id(node) for node in descendants(block)):
            continue
        for part in operands(first.test, operator):
            if not missing.asks_for_file(part) and not is_fixed(plan, part):
                return part
    return None


def operands(
    test: cst.BaseExpression, operator: type[cst.BaseBooleanOp]
) -> list[cst.BaseExpression]:
    """The parts that an operator joins; none where a test is not made of it."""
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, operator):
        return []
    found: list[cst.BaseExpression] = []
    for side in (test.left, test.right):
        found.extend(operands(side, operator) or [side])
    return found


def is_fixed(plan: Plan, part: cst.BaseExpression) -> bool:
    """Whether a part of a test is a constant, as the default of a parameter nobody gives."""
    if isinstance(part, cst.UnaryOperation):
        return is_fixed(plan, part.expression)
    values = plan.facts.values_of(part)
    return bool(values) and all(isinstance(value, Constant) for value in values)
