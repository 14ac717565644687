"""What becomes of numbers when every process sees a share of the batch.

``quantity(plan, values)`` says how an expression depends on the training batch of this process:
not at all, as samples, as their mean, sum or number, or in a way that cannot be told.
"""

from __future__ import annotations

from transpile.facts.values import Values
from transpile.plan.model import Plan
from transpile.plan.query import query

from .asking import Analysis
from .domain import Duty, Kind, Pending, Quantity, WeightedLoss, describe

__all__ = [
    "Analysis",
    "Duty",
    "Kind",
    "Pending",
    "Quantity",
    "WeightedLoss",
    "analysis",
    "describe",
    "quantity",
]


@query
def analysis(plan: Plan) -> Analysis:
    """The analysis of a plan, one for all rules."""
    return Analysis(plan)


def quantity(plan: Plan, values: Values) -> Quantity:
    """How an expression that may be any of the values depends on the training batch."""
    return analysis(plan).of(values)
