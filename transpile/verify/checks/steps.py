"""Whether the optimisation takes the original's steps."""

from __future__ import annotations

from math import isclose

from transpile.verify.evidence import Iteration, OptimizerEvidence, RankEvidence, RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed

_NO_OPTIMIZER = "no optimizer took a step"


def global_batch(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """The batches of all ranks together have the size that the original's have."""
    name = "global batch"
    if not original.first.training:
        return _input_sizes(name, original, run, expectation)
    if expectation.batch_size == "per-device":
        return _per_device_batch(name, original, run)
    if run.splits_calls(original):
        return _whole_batches(name, original, run)
    for number, reference in enumerate(original.first.training):
        shards = [rank.training[number] for rank in run.ranks if number < len(rank.training)]
        steps = min((len(shard.batches) for shard in shards), default=0)
        for step, batch in enumerate(reference.batches[:steps]):
            total = sum(len(shard.batches[step]) for shard in shards)
            last = step == len(reference.batches) - 1
            padding = len(run.ranks) - 1 if last or reference.own_batches else 0
            if not len(batch) <= total <= len(batch) + padding:
                sizes = " + ".join(str(len(shard.batches[step])) for shard in shards)
                return failed(
                    name,
                    f"training pass {number}, step {step}: {sizes} samples, "
                    f"in the original {len(batch)}",
                )
    largest = [_largest(rank.training[0]) for rank in run.ranks if rank.training]
    wanted = _largest(original.first.training[0])
    return passed(name, f"{' + '.join(map(str, largest))} samples, in the original {wanted}")


def _whole_batches(name: str, original: RunEvidence, run: RunEvidence) -> Check:
    """Where calls are sharded, each rank's batches are as large as the original's."""
    for rank in run.ranks:
        pairs = zip(original.first.training, rank.training, strict=False)
        for number, (reference, drawn) in enumerate(pairs):
            sizes = [len(batch) for batch in reference.batches]
            found = [len(batch) for batch in drawn.batches]
            steps = min(len(sizes), len(found))
            if found[:steps] != sizes[:steps]:
                return failed(
                    name,
                    f"training pass {number}: rank {rank.rank} draws batches of {found[:steps]} "
                    f"samples, the original {sizes[:steps]}",
                )
    return passed(name, "that of the original on every rank")


def optimizer_steps(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """Every rank takes as many optimizer steps as the original."""
    name = "optimizer steps"
    expected = _counts(original.first)
    if not expected:
        return not_applicable(name, _NO_OPTIMIZER)
    counts = [_counts(rank) for rank in run.ranks]
    if expectation.batch_size == "per-device":
        if any(count != counts[0] for count in counts):
            return failed(name, f"the ranks take different numbers of steps: {_listed(counts)}")
        return passed(
            name, f"{_count(counts[0])} on every rank, in the original {_count(expected)}"
        )
    if expectation.length_may_differ:
        return _steps_by_pass(name, original, run)
    if any(count != expected for count in counts):
        return failed(name, f"{_listed(counts)}; in the original {_count(expected)}")
    return passed(name, _count(expected))


def learning_rates(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """Every step is taken with the learning rate that the original takes it with."""
    name = "learning rates"
    if not _counts(original.first):
        return not_applicable(name, _NO_OPTIMIZER)
    own = expectation.batch_size == "per-device" or expectation.length_may_differ
    reference = run.first if own else original.first
    whose = "on rank 0" if own else "in the original"
    if any(_counts(rank) != _counts(reference) for rank in run.ranks):
        return not_applicable(name, "the numbers of steps differ")
    for rank in run.ranks:
        for ours, theirs in zip(reference.optimizers, rank.optimizers, strict=True):
            step = _first_difference(ours, theirs)
            if step is not None:
                return failed(
                    name,
                    f"rank {rank.rank}, optimizer {ours.number}, step {step}: "
                    f"{_rates(theirs, step)}, {whose} {_rates(ours, step)}",
                )
    return passed(
        name, "; ".join(_first_and_last(one) for one in reference.optimizers if one.steps)
    )


def _steps_by_pass(name: str, original: RunEvidence, run: RunEvidence) -> Check:
    counts = [_counts(rank) for rank in run.ranks]
    if any(count != counts[0] for count in counts):
        return failed(name, f"the ranks take different numbers of steps: {_listed(counts)}")
    pairs = zip(original.first.training, run.first.training, strict=False)
    for number, (reference, entry) in enumerate(pairs):
        if entry.steps != reference.steps:
            return failed(
                name,
                f"training pass {number}: {entry.steps} steps, in the original {reference.steps}",
            )
    return passed(name, f"{_count(counts[0])}, in the original {_count(_counts(original.first))}")


def _input_sizes(
    name: str, original: RunEvidence, run: RunEvidence, expectation: Expectation
) -> Check:
    """Without loaders: how much the model is called with at the first step, which is a full one."""
    sizes = [rank.inputs[0].size for rank in run.ranks if rank.inputs]
    if not original.first.inputs or len(sizes) < len(run.ranks):
        return not_applicable(name, "no data loader trains")
    expected = original.first.inputs[0].size
    if run.splits_calls(original):
        expected *= len(run.ranks)
    if expectation.batch_size == "per-device":
        expected *= len(run.ranks)
    shown = " + ".join(map(str, sizes))
    if sum(sizes) != expected:
        return failed(
            name, f"the model's first input has {shown} numbers, in the original {expected}"
        )
    return passed(name, "by the size of the model's first input")


def _per_device_batch(name: str, original: RunEvidence, run: RunEvidence) -> Check:
    for number, reference in enumerate(original.first.training):
        size = _largest(reference)
        for rank in run.ranks:
            if number < len(rank.training) and _largest(rank.training[number]) > size:
                found = _largest(rank.training[number])
                return failed(
                    name,
                    f"training pass {number}: rank {rank.rank} takes {found} samples at a time, "
                    f"the original {size}",
                )
            full = reference.dataset_length is None or reference.dataset_length >= size * len(
                run.ranks
            )
            if full and number < len(rank.training) and _largest(rank.training[number]) < size:
                found = _largest(rank.training[number])
                return failed(
                    name,
                    f"training pass {number}: rank {rank.rank} takes {found} samples at a time, "
                    f"the original {size}",
                )
    return passed(name, "that of the original on every rank")


def _largest(entry: Iteration) -> int:
    return max((len(batch) for batch in entry.batches), default=0)


def _counts(rank: RankEvidence) -> list[int]:
    return [optimizer.steps for optimizer in rank.optimizers if optimizer.steps]


def _count(counts: list[int]) -> str:
    return " + ".join(map(str, counts)) or "0"


def _listed(counts: list[list[int]]) -> str:
    return ", ".join(f"rank {rank}: {_count(count)}" for rank, count in enumerate(counts))


def _first_difference(ours: OptimizerEvidence, theirs: OptimizerEvidence) -> int | None:
    pairs = zip(ours.learning_rates, theirs.learning_rates, strict=True)
    for step, (left, right) in enumerate(pairs):
        if len(left) != len(right) or not all(
            isclose(a, b, rel_tol=1e-9, abs_tol=1e-15) for a, b in zip(left, right, strict=True)
        ):
            return step
    return None


def _first_and_last(optimizer: OptimizerEvidence) -> str:
    """The learning rates that an optimizer begins and ends with."""
    first, last = _rates(optimizer, 0), _rates(optimizer, optimizer.steps - 1)
    return first if first == last else f"{first} to {last}"


def _rates(optimizer: OptimizerEvidence, step: int) -> str:
    return ", ".join(f"{rate:.6g}" for rate in optimizer.learning_rates[step])
