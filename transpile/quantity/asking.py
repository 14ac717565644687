"""What becomes of numbers when every process sees a share of the batch.

``quantity(plan, values)`` says how an expression depends on the training batch of this process:
not at all, as samples, as their mean, sum or number, or in a way that cannot be told.
"""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import replace

from .algebra import PAIRS, STATISTIC
from .analysis import Supposing
from .domain import Duty, Kind, Pending, Quantity, WeightedLoss, describe
from .sample_axis.shapes import PIECES

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


class Analysis(Supposing):
    """The quantities of one plan's values; asked for one, it settles all that this depends on."""

    def in_model_code(self, value: Opaque, found: Quantity) -> Quantity:
        """What a value in the code of a model is, of which nothing is known without the model.

        What models do is found out with an analysis that supposes what they do.
        """
        # Statistics of the batch, and samples that meet others or stand alone, are told with the
        # model.
        apart = self.vocabulary.apart
        if apart is None:
            # No rule looks at models by themselves.
            return replace(found, certain=True)
        if (
            found.reason.startswith(STATISTIC)
            or found.reason in (PAIRS, PIECES)
            or apart(self.plan)
        ):
            return super().in_model_code(value, found)
        return replace(found, certain=True)


@query
def analysis(plan: Plan) -> Analysis:
    """The analysis of a plan, one for all rules."""
    return Analysis(plan)


def quantity(plan: Plan, values: Values) -> Quantity:
    """How an expression that may be any of the values depends on the training batch."""
    return analysis(plan).of(values)
