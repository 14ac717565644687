"""What a conversion promises, which decides what the checks demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Expectation:
    """What the converted script is held to.

    Args:
        batch_size: whether the original's batch size is that of all processes together or of each
            one; with ``per-device`` steps, schedules and parameters cannot equal the original's.
        tolerance: largest relative difference between the final parameters of several processes
            and those of the original; None where the script is not deterministic (shuffling,
            dropout, batch norm).
        printed_numbers: whether numbers that are printed must equal the original's within
            `tolerance`; needs a script that prints no times.
    """

    batch_size: Literal["global", "per-device"] = "global"
    tolerance: float | None = None
    printed_numbers: bool = False

    def __post_init__(self) -> None:
        if self.printed_numbers and self.tolerance is None:
            raise ValueError("printed_numbers needs a tolerance")
