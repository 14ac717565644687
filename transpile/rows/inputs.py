"""The inputs of a model, of the ranks that a run supposes."""

from __future__ import annotations

from .domain import SAMPLES, Dim, Factor, Input, Tensor

#: The ranks that are tried.
RANKS = (1, 2, 3, 4, 5)


def input_tensor(given: Input, rank: int) -> Tensor:
    """An input of a rank, each of its sizes a symbol."""
    return Tensor(
        tuple(
            SAMPLES if place == given.axis else Dim(Factor(1, (f"{given.name}.{place}",)))
            for place in range(rank)
        )
    )
