"""The analysis that asks what models do, where it does not know itself."""

from __future__ import annotations

from transpile.facts.values import Opaque
from transpile.records import replace

from .algebra import PAIRS, STATISTIC
from .analysis import Supposing
from .domain import Quantity
from .shapes import PIECES


class Analysis(Supposing):
    """The quantities of one plan's values; asked for one, it settles all that this depends on."""

    def in_model_code(self, value: Opaque, found: Quantity) -> Quantity:
        """What a value in the code of a model is, of which nothing is known without the model."""
        # What models do is found out with an analysis that supposes what they do.
        from transpile.rules.pytorch.models._rows import are_apart

        # Statistics of the batch, and samples that meet others or stand alone, are told with the
        # model.
        if found.reason in (STATISTIC, PAIRS, PIECES) or are_apart(self.plan):
            return super().in_model_code(value, found)
        return replace(found, certain=True)
