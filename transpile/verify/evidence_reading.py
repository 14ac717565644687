"""Reading what was observed in a run of one rank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transpile.verify.evidence import (
    Checkpoint,
    Ending,
    Iteration,
    ModelInput,
    OptimizerEvidence,
    RankEvidence,
    Sample,
    Touch,
    Write,
)


@dataclass
class _Pass:
    """An :class:`Iteration` while the journal is being read."""

    loader: int
    dataset: int
    dataset_length: int | None
    own_batches: bool
    handed_out: list[tuple[Sample, ...]] = field(default_factory=list)
    taken: list[tuple[str, ...]] = field(default_factory=list)
    exhausted: bool = False
    backwards: int = 0
    gradients: int = 0
    steps: int = 0

    def iteration(self, number: int) -> Iteration:
        # With worker processes a loader broadcasts indices ahead of the batches that are taken.
        batches = tuple(self.handed_out[: len(self.taken)])
        return Iteration(
            number=number,
            loader=self.loader,
            dataset=self.dataset,
            dataset_length=self.dataset_length,
            own_batches=self.own_batches,
            batches=batches,
            contents=tuple(
                held if len(held) == len(batch) else ()
                for batch, held in zip(batches, self.taken, strict=False)
            ),
            exhausted=self.exhausted,
            backwards=self.backwards,
            gradients=self.gradients,
            steps=self.steps,
        )


@dataclass
class _Optimizer:
    """An :class:`OptimizerEvidence` while the journal is being read."""

    kind: str
    shapes: tuple[tuple[int, ...], ...]
    wrapped: tuple[bool, ...]
    sharded: bool
    learning_rates: list[tuple[float, ...]] = field(default_factory=list)
    first_digest: str | None = None
    digest: str | None = None
    values: Path | None = None


def read_rank(
    directory: Path,
    rank: int,
    *,
    ending: Ending = Ending.EXITED,
    exit_status: int | None = 0,
    place: str = "",
) -> RankEvidence:
    """The evidence that a rank left in its folder; a rank that was killed left only a part.

    Args:
        directory: folder with the rank's journal, standard output and standard error.
        rank: the rank.
        ending: how it ended.
        exit_status: its exit status.
        place: where it was when it was killed.
    """
    passes: dict[int, _Pass] = {}
    optimizers: dict[int, _Optimizer] = {}
    writes: dict[Write, None] = {}
    checkpoints: list[Checkpoint] = []
    inputs: list[ModelInput] = []
    losses: list[float | None] = []
    step_seconds: list[float] = []
    tracked: list[tuple[str, float]] = []
    split_calls = False
    layers: tuple[int, ...] = ()
    for event in _events(directory / "journal.jsonl"):
        kind = event["event"]
        if kind == "iteration":
            passes[event["number"]] = _Pass(
                event["loader"], event["dataset"], event["length"], event["own_batches"]
            )
        elif kind == "batch":
            passes[event["number"]].handed_out.append(tuple(event["samples"]))
        elif kind == "taken":
            passes[event["number"]].taken.append(tuple(event.get("contents", ())))
        elif kind == "exhausted":
            passes[event["number"]].exhausted = True
        elif kind == "backward":
            losses.append(event.get("loss"))
            for number in event["open"]:
                passes[number].backwards += 1
        elif kind == "grad":
            for number in event["open"]:
                passes[number].gradients += 1
        elif kind == "input":
            inputs.append(ModelInput(event["digest"], event["size"]))
        elif kind == "layers":
            layers = tuple(event["sizes"])
        elif kind == "tracked":
            tracked.append((event["tag"], event["value"]))
        elif kind == "wrapped call":
            split_calls = split_calls or event["computed"] < event["given"]
        elif kind == "optimizer":
            optimizers[event["number"]] = _Optimizer(
                event["kind"], _shapes(event["shapes"]), tuple(event["wrapped"]), event["sharded"]
            )
        elif kind == "step":
            step_seconds.append(event.get("seconds", 0.0))
            optimizers[event["number"]].learning_rates.append(tuple(event["learning_rates"]))
            for number in event["open"]:
                passes[number].steps += 1
        elif kind == "first":
            optimizers[event["number"]].first_digest = event["digest"]
        elif kind == "final":
            optimizers[event["number"]].digest = event["digest"]
            optimizers[event["number"]].values = directory / event["file"]
        elif kind == "write":
            writes[Write(event["path"], Touch(event["touch"]), event["how"])] = None
        elif kind == "save":
            checkpoints.append(Checkpoint(event["path"], event["leaves"]))
    return RankEvidence(
        rank=rank,
        ending=ending,
        exit_status=exit_status,
        iterations=tuple(entry.iteration(number) for number, entry in sorted(passes.items())),
        optimizers=tuple(
            OptimizerEvidence(
                number=number,
                kind=entry.kind,
                shapes=entry.shapes,
                wrapped=entry.wrapped,
                learning_rates=tuple(entry.learning_rates),
                first_digest=entry.first_digest,
                digest=entry.digest,
                values=entry.values,
                sharded=entry.sharded,
            )
            for number, entry in sorted(optimizers.items())
        ),
        writes=tuple(writes),
        checkpoints=tuple(checkpoints),
        inputs=tuple(inputs),
        split_calls=split_calls,
        layers=layers,
        output=_text(directory / "stdout"),
        errors=_text(directory / "stderr"),
        place=place,
        losses=tuple(losses),
        tracked=tuple(tracked),
        step_seconds=tuple(step_seconds),
    )


def _events(path: Path) -> Iterable[Mapping[str, Any]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            # The last line of a rank that was killed may be cut short.
            if line.endswith("\n"):
                yield json.loads(line)


def _shapes(shapes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(shape) for shape in shapes)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
