"""What becomes of numbers when every process sees a share of the batch.

``quantity(plan, values)`` says how an expression depends on the training batch of this process:
not at all, as samples, as their mean, sum or number, or in a way that cannot be told.
"""

from __future__ import annotations

from transpile.facts.values import Values
from transpile.plan.model import Plan

from .analysis import Analysis
from .domain import Kind, Pending, Quantity, WeightedLoss, describe

__all__ = [
    "Analysis",
    "Kind",
    "Pending",
    "Quantity",
    "WeightedLoss",
    "analysis",
    "describe",
    "quantity",
]


def analysis(plan: Plan, reduced: bool = False) -> Analysis:
    """The analysis of a plan, one for all rules.

    Args:
        plan: the plan.
        reduced: the one that takes numbers as if they were reduced over the processes.
    """
    key = "quantities, reduced" if reduced else "quantities"
    if key not in plan.memo:
        plan.memo[key] = Analysis(plan, reduced)
    found: Analysis = plan.memo[key]
    return found


def quantity(plan: Plan, values: Values) -> Quantity:
    """How an expression that may be any of the values depends on the training batch."""
    return analysis(plan).of(values)
