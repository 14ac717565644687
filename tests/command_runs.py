"""What a run of the command within the tests' process did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """What the command did."""

    status: int
    output: bytes
    errors: str


Command = Callable[..., Run]
