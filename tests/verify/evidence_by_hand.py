"""Short ways to write evidence down."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

from transpile.verify.evidence import (
    Iteration,
    OptimizerEvidence,
    RankEvidence,
    RunEvidence,
    Sample,
)


def training_pass(
    *batches: Sequence[Sample],
    number: int = 0,
    length: int | None = None,
    own_batches: bool = False,
    dataset: int = 0,
    holding: str = "",
) -> Iteration:
    """A pass whose every batch is followed by a step."""
    return Iteration(
        number=number,
        loader=dataset,
        dataset=dataset,
        dataset_length=length,
        own_batches=own_batches,
        batches=tuple(tuple(batch) for batch in batches),
        contents=tuple(map(tuple, holding.split())),
        backwards=len(batches),
        steps=len(batches),
    )


def evaluation_pass(
    *batches: Sequence[Sample], number: int = 9, loader: int = 9, exhausted: bool = True
) -> Iteration:
    """A pass that nothing is learned from."""
    return Iteration(
        number=number,
        loader=loader,
        dataset=loader,
        dataset_length=None,
        own_batches=False,
        batches=tuple(tuple(batch) for batch in batches),
        exhausted=exhausted,
    )


def optimizer(
    *rates: float, number: int = 0, digest: str | None = "same", values: Path | None = None
) -> OptimizerEvidence:
    """An optimizer of one parameter with three values."""
    return OptimizerEvidence(
        number=number,
        kind="SGD",
        shapes=((3,),),
        wrapped=(True,),
        learning_rates=tuple((rate,) for rate in rates),
        digest=digest,
        values=values,
    )


def values(path: Path, *numbers: float) -> Path:
    """A file of parameters as a rank leaves it."""
    path.write_bytes(array("d", numbers).tobytes())
    return path


def run(*ranks: RankEvidence, files: Sequence[str] = ()) -> RunEvidence:
    """A run of these ranks."""
    return RunEvidence(len(ranks), ranks, frozenset(files))


def training_run(*passes: Sequence[Iteration]) -> RunEvidence:
    """A run whose ranks make these passes."""
    return run(*(RankEvidence(rank, iterations=tuple(entry)) for rank, entry in enumerate(passes)))
