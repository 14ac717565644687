"""How values of Paddle scripts depend on the training batch of one process."""

from __future__ import annotations

from .analysis import Analysis, analysis
from .domain import EQUAL, NOTHING, REDUCIBLE, SAMPLES, Kind, Quantity
from .losses import of_loss

__all__ = [
    "EQUAL",
    "NOTHING",
    "REDUCIBLE",
    "SAMPLES",
    "Analysis",
    "Kind",
    "Quantity",
    "analysis",
    "of_loss",
]
