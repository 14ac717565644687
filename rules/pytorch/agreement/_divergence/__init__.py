"""Which values may differ between processes, and why.

A value differs by what it was computed from, or because of the branch on which it was set: a
counter that is raised where a loss got worse depends on that loss, though no number flows from the
one into the other.
"""

from __future__ import annotations

from .causes import ON_DISK, Cause, loop_position
from .expressions import Divergence
from .reduced import NOTHING_REDUCED

__all__ = ["NOTHING_REDUCED", "ON_DISK", "Cause", "Divergence", "loop_position"]
