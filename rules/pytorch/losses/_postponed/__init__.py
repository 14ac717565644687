"""Numbers that are only added up, and where what they add up to is reduced once."""

from __future__ import annotations

from .done import averaged_already
from .search import ahead, postponed
from .statements import Ahead, Number
from .totals import Kept, Place, Postponed

__all__ = [
    "Ahead",
    "Kept",
    "Number",
    "Place",
    "Postponed",
    "ahead",
    "averaged_already",
    "postponed",
]
