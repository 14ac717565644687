"""Evaluation loops, and how what they add up can be shared out over the processes."""

from __future__ import annotations

from .loops import evaluations, shared_loops
from .model import Done, Meter, Shared, Total, Way, Whole

__all__ = ["Done", "Meter", "Shared", "Total", "Way", "Whole", "evaluations", "shared_loops"]
