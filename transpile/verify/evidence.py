"""What was observed while a script ran, as plain data.

The judgements read nothing else, so that each can be tested on evidence written by hand.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

Sample = int | str
"""A sample's index in the data set; a digest of its content where there is no index."""


class Ending(Enum):
    """How a rank ended."""

    EXITED = "exited"
    HUNG = "hung"
    """It was still running at the time limit and was killed."""
    STOPPED = "stopped"
    """Another rank failed, and this one did not end by itself afterwards."""


@dataclass(frozen=True)
class Iteration:
    """One pass over a data loader.

    Args:
        number: position among the passes of the rank, in the order of their starts.
        loader: which loader object, counted in the order of first use.
        dataset: which data set object, counted likewise.
        dataset_length: number of samples of the data set; None where it has no length.
        own_batches: the batches come from a batch sampler of the script's own.
        batches: the samples of each batch that the script took.
        contents: digests of what these samples hold; empty for a batch that does not show it.
        exhausted: whether the pass went to the loader's end.
        backwards: backward passes that followed a batch of this pass.
        gradients: calls of ``torch.autograd.grad`` that followed a batch of this pass.
        steps: optimizer steps that followed a batch of this pass.
    """

    number: int
    loader: int
    dataset: int
    dataset_length: int | None
    own_batches: bool
    batches: tuple[tuple[Sample, ...], ...]
    contents: tuple[tuple[str, ...], ...] = ()
    exhausted: bool = True
    backwards: int = 0
    gradients: int = 0
    steps: int = 0

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples in the order of their visits."""
        return tuple(sample for batch in self.batches for sample in batch)

    @property
    def held(self) -> tuple[str, ...]:
        """What all samples hold, in the order of their visits; empty where not all show it."""
        if not all(self.contents) or len(self.contents) < len(self.batches):
            return ()
        return tuple(content for batch in self.contents for content in batch)


@dataclass(frozen=True)
class OptimizerEvidence:
    """An optimizer that took at least one step, or all parameters of a script without such.

    Args:
        number: position among the rank's optimizers, in the order of their making; negative where
            no optimizer took a step.
        kind: the class's name.
        shapes: shapes of its parameters, in its own order.
        wrapped: for each parameter, whether a DistributedDataParallel module holds it.
        learning_rates: for each step, the learning rate of each parameter group.
        first_digest: digest of the parameters after the first step.
        digest: digest of the parameters at the end; None where the rank did not get there.
        values: file of the parameters at the end, as native float64 numbers.
        sharded: whether a parameter is spread over ranks, so that no rank has all of it.
    """

    number: int
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    wrapped: tuple[bool, ...]
    learning_rates: tuple[tuple[float, ...], ...]
    first_digest: str | None = None
    digest: str | None = None
    values: Path | None = None
    sharded: bool = False

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return len(self.learning_rates)

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return f"optimizer {self.number} ({self.kind})" if self.number >= 0 else self.kind

    def read_values(self) -> array[float]:
        """The parameters at the end of the run, one after the other."""
        numbers: array[float] = array("d")
        if self.values is not None:
            numbers.frombytes(self.values.read_bytes())
        return numbers


@dataclass(frozen=True)
class ModelInput:
    """What a model was called with, once for every differentiation.

    Args:
        digest: digest of the tensors' values.
        size: how many numbers they hold.
    """

    digest: str
    size: int


class Touch(Enum):
    """What was done to a path."""

    FILE = "file"
    """Opened for writing, renamed to, removed ..."""
    DIRECTORY = "directory"
    """Made as a directory that was not there when the run started."""


@dataclass(frozen=True)
class Write:
    """A change of the file system within the job's folders.

    Args:
        path: relative to the working directory, with forward slashes.
        touch: file or directory.
        how: the operation: ``open``, ``save``, ``rename``, ``remove``, ``mkdir`` ...
    """

    path: str
    touch: Touch
    how: str


@dataclass(frozen=True)
class Checkpoint:
    """What was given to ``torch.save``.

    Args:
        path: where it was written, as in :class:`Write`.
        leaves: for each key, with the keys of nested mappings joined by ``/``, what is there:
            type and shape of a tensor, the name of any other type.
    """

    path: str
    leaves: Mapping[str, str]


@dataclass(frozen=True)
class RankEvidence:
    """What one process did.

    Args:
        rank: its rank; 0 for a process that was started alone.
        ending: how it ended.
        exit_status: exit status, minus the signal's number where a signal ended it; None where
            it was killed by the audit.
        iterations: its passes over data loaders.
        optimizers: its optimizers that took steps; its parameters where none did.
        writes: its changes of the file system.
        checkpoints: what it saved.
        inputs: what its model was trained on, where no loader trains.
        split_calls: whether a wrapped model computes a part of what its wrap is called with.
        layers: how many numbers each call of a layer is given until the first differentiation.
        output: its standard output.
        errors: its standard error.
        place: where it was when it was killed, innermost call first.
        losses: the numbers that backward passes began at, one after the other; None for others.
        step_seconds: when its optimizers stepped, since it began.
        tracked: the numbers that it gave to a tracker, each with its tag, one after the other.
    """

    rank: int
    ending: Ending = Ending.EXITED
    exit_status: int | None = 0
    iterations: tuple[Iteration, ...] = ()
    optimizers: tuple[OptimizerEvidence, ...] = ()
    writes: tuple[Write, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    inputs: tuple[ModelInput, ...] = ()
    split_calls: bool = False
    layers: tuple[int, ...] = ()
    output: str = ""
    errors: str = ""
    place: str = ""
    losses: tuple[float | None, ...] = ()
    step_seconds: tuple[float, ...] = ()
    tracked: tuple[tuple[str, float], ...] = ()

    @property
    def training(self) -> tuple[Iteration, ...]:
        """The passes that train: optimizer steps follow their batches.

        A script that updates parameters without an optimizer is judged by its backward passes, or
        by the gradients it asks for. Those alone are otherwise not enough: adversarial evaluation
        has them, too.
        """
        stepping = tuple(entry for entry in self.iterations if entry.steps)
        backward = tuple(entry for entry in self.iterations if entry.backwards)
        return stepping or backward or tuple(e for e in self.iterations if e.gradients)

    @property
    def evaluation(self) -> tuple[Iteration, ...]:
        """The passes that do not train.

        A glance at a loader that also trains (one batch to draw or to trace with) is left out: it
        is not there to be complete. A process's share may be empty.
        """
        training = self.training
        numbers = {entry.number for entry in training}
        loaders = {entry.loader for entry in training}
        return tuple(
            entry
            for entry in self.iterations
            if entry.number not in numbers
            and (entry.exhausted or (entry.batches and entry.loader not in loaders))
        )


@dataclass(frozen=True)
class RunEvidence:
    """What one run of a script did.

    Args:
        world_size: number of processes; 0 for the original script.
        ranks: evidence of each, in the order of ranks.
        files: files within the job's folder that are new or changed after the run.
        seconds: how long the run took.
    """

    world_size: int
    ranks: tuple[RankEvidence, ...]
    files: frozenset[str] = frozenset()
    seconds: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether every process ended by itself with exit status 0."""
        return all(rank.ending is Ending.EXITED and rank.exit_status == 0 for rank in self.ranks)

    def splits_calls(self, original: RunEvidence) -> bool:
        """Whether the ranks shard the calls of models, on whole batches that all of them draw.

        Of a call with fewer samples than ranks, a rank computes one of its own, too.
        """
        if len(self.ranks) < 2:
            return False
        if all(rank.split_calls for rank in self.ranks):
            return True
        return self._shards_layers(original) and self._draws_whole_batches(original)

    def _shards_layers(self, original: RunEvidence) -> bool:
        """Whether what some layer is given by all ranks together is what the original gives it."""
        whole = original.first.layers
        if any(len(rank.layers) != len(whole) for rank in self.ranks):
            return False
        found = zip(whole, *(rank.layers for rank in self.ranks), strict=True)
        return any(sum(shares) == size and max(shares) < size for size, *shares in found)

    def _draws_whole_batches(self, original: RunEvidence) -> bool:
        """Whether the first batch of every rank is as large as the original's."""
        expected = original.first
        for rank in self.ranks:
            if bool(rank.training) != bool(expected.training):
                return False
            if expected.training:
                own, whole = rank.training[0].batches, expected.training[0].batches
                if not own or not whole or len(own[0]) != len(whole[0]):
                    return False
            elif not rank.inputs or not expected.inputs:
                return False
            elif rank.inputs[0].size != expected.inputs[0].size:
                return False
        return True

    @property
    def first(self) -> RankEvidence:
        """Evidence of rank 0."""
        return self.ranks[0]
