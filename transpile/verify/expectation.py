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
        printed_numbers: whether numbers that are printed or tracked must equal the original's
            within `tolerance`; needs a script that prints no times.
        length_may_differ: whether the script decides by what it has computed how long it trains
            or with which learning rate (early stopping, plateau schedules): with another order of
            the samples it may decide otherwise, only not differently on each rank.
    """

    batch_size: Literal["global", "per-device"] = "global"
    tolerance: float | None = None
    printed_numbers: bool = False
    length_may_differ: bool = False

    @property
    def deterministic(self) -> bool:
        """Whether the run must do exactly what the original does, not only what it might do."""
        return self.tolerance is not None

    def __post_init__(self) -> None:
        if self.printed_numbers and self.tolerance is None:
            raise ValueError("printed_numbers needs a tolerance")
