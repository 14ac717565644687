"""The numbers that a script reports or decides by, and where they leave the training batch."""

from __future__ import annotations

from .model import Change, Leaf, Reported
from .search import reported

__all__ = ["Change", "Leaf", "Reported", "reported"]
