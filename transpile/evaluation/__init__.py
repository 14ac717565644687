"""Evaluation loops, and how what they add up can be sharded over the processes."""

from __future__ import annotations

from .loops import evaluations, shared_loops
from .model import Done, Evaluation, Forward, Meter, Shared, Total, Way, Whole

__all__ = ["Done", "Evaluation", "Forward", "Meter", "Shared", "Total", "Way", "Whole"]
__all__ += ["evaluations", "shared_loops"]
