"""Whether the ranks divide the training data among them, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from transpile.verify.evidence import Iteration, RankEvidence, RunEvidence, Sample
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed

_NO_LOADER = "no data loader trains"


def disjoint(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """No two ranks train on the same samples, up to the padding that makes shards equal.

    Where the ranks shard the calls of models, all of them draw the same.
    """
    name = "training shards disjoint"
    if run.splits_calls(original):
        return _same_batches(name, original, run)
    if not original.first.training:
        return _inputs_differ(name, run)
    problems: list[str] = []
    for number, (reference, shards) in enumerate(_passes(original, run)):
        if _repeats(reference.samples):
            problem = _same_draws(shards)
        else:
            samples = [sample for shard in shards for sample in shard.samples]
            repeats, allowed = _repeats(samples), _padding(reference, len(shards))
            problem = _same_contents(reference, shards, allowed)
            if repeats > allowed:
                problem = (
                    f"{repeats} of {len(samples)} visits repeat a sample, padding explains "
                    f"{allowed}"
                )
        if problem:
            problems.append(f"training pass {number}: {problem}")
    return _outcome(name, problems, _shares(original, run))


def complete(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """All ranks together train on what the original trains on."""
    name = "training shards complete"
    if not original.first.training:
        return not_applicable(name, _NO_LOADER)
    expected, whose = len(original.first.training), "the original"
    if expectation.length_may_differ:
        expected, whose = len(run.first.training), "rank 0"
    problems = [
        f"rank {rank.rank} makes {len(rank.training)} training passes, {whose} {expected}"
        for rank in run.ranks
        if len(rank.training) != expected
    ]
    for number, (reference, shards) in enumerate(_passes(original, run)):
        wanted = set(reference.samples)
        visited = {sample for shard in shards for sample in shard.samples}
        if _repeats(reference.samples):
            # Drawn with replacement: which samples come is chance, how many is not.
            count = sum(len(shard.samples) for shard in shards)
            missing = len(reference.samples) - count
        elif len(wanted) == reference.dataset_length:
            missing = len(wanted - visited)
        else:
            # A part of the data set, the last batch dropped: which samples is chance, too.
            missing = len(wanted) - len(visited)
        if missing > 0:
            problems.append(
                f"training pass {number}: {missing} of {len(reference.samples)} samples missing"
            )
    wanted_in_all = [len(reference.samples) for reference, _ in _passes(original, run)]
    return _outcome(name, problems, f"{_sizes(wanted_in_all)} samples, none missing")


def order(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """The order of the samples changes from epoch to epoch exactly where the original's does."""
    name = "order changes with the epoch"
    groups = _loader_groups(original.first)
    if not groups:
        return not_applicable(name, _NO_LOADER)
    problems: list[str] = []
    judged: set[bool] = set()
    for positions in groups:
        expected = _changes([original.first.training[position] for position in positions])
        if expected is None:
            continue
        judged.add(expected)
        for rank in run.ranks:
            training = rank.training
            changes = _changes([training[at] for at in positions if at < len(training)])
            if changes is not None and changes != expected:
                problems.append(
                    f"rank {rank.rank} sees the same order in every epoch"
                    if expected
                    else f"rank {rank.rank} sees the samples shuffled, the original does not"
                )
    if not judged:
        return not_applicable(name, "the original makes one pass, in an order of its own")
    words = {True: "it changes", False: "it stays"}
    seen = " or ".join(words[changes] for changes in sorted(judged, reverse=True))
    return _outcome(name, problems, f"{seen}, as in the original")


def _same_batches(name: str, original: RunEvidence, run: RunEvidence) -> Check:
    """Every rank draws the same batches, whose rows the calls of the model shard."""
    for number, (_, drawn) in enumerate(_passes(original, run)):
        if any(
            each.batches != drawn[0].batches or each.contents != drawn[0].contents
            for each in drawn[1:]
        ):
            return failed(name, f"training pass {number}: the ranks draw different batches")
    digests = [[entry.digest for entry in rank.inputs] for rank in run.ranks]
    if not original.first.training and any(each != digests[0] for each in digests[1:]):
        return failed(name, "the ranks call their model with different batches")
    return passed(name, "every rank draws all, and computes its rows of each call")


def _inputs_differ(name: str, run: RunEvidence) -> Check:
    """Without loaders samples have no names, but the same work on every rank shows."""
    digests = [[entry.digest for entry in rank.inputs] for rank in run.ranks]
    if digests[0] and all(entry == digests[0] for entry in digests[1:]):
        return failed(name, "every rank trains its model on the same input at every step")
    return not_applicable(name, _NO_LOADER)


def _passes(
    original: RunEvidence, run: RunEvidence
) -> list[tuple[Iteration, tuple[Iteration, ...]]]:
    """Each training pass of the original with what became of it on the ranks that make it."""
    passes = [
        (
            reference,
            tuple(rank.training[number] for rank in run.ranks if number < len(rank.training)),
        )
        for number, reference in enumerate(original.first.training)
    ]
    # One that no rank makes is missing as a whole, which the number of passes tells.
    return [(reference, shards) for reference, shards in passes if shards]


def _repeats(samples: Sequence[Sample]) -> int:
    return len(samples) - len(set(samples))


def _padding(reference: Iteration, ranks: int) -> int:
    # A sampler pads once per pass; where batches are the script's own each one is divided.
    return (ranks - 1) * (len(reference.batches) if reference.own_batches else 1)


def _same_draws(shards: Sequence[Iteration]) -> str:
    for position, shard in enumerate(shards):
        for other in shards[:position]:
            if len(shard.samples) > 1 and shard.samples == other.samples:
                return "two ranks draw the same samples in the same order"
    return ""


def _same_contents(reference: Iteration, shards: Sequence[Iteration], padding: int) -> str:
    """Whether ranks are given the same under different indices, where the original is not."""
    held = [shard.held for shard in shards]
    if not reference.held or not all(held):
        return ""
    contents = [content for each in held for content in each]
    repeats, before = _repeats(contents), _repeats(reference.held)
    if repeats <= before + padding:
        return ""
    return (
        f"{repeats} of {len(contents)} samples hold what another one does, in the original {before}"
    )


def _loader_groups(rank: RankEvidence) -> list[list[int]]:
    """Positions of the training passes that belong together: the epochs of one data set."""
    training = rank.training
    datasets = Counter(entry.dataset for entry in training)
    # Data sets that are recreated for every epoch cannot be told from different ones.
    if len(training) > 1 and max(datasets.values()) == 1:
        return [list(range(len(training)))]
    return [
        [position for position, entry in enumerate(training) if entry.dataset == dataset]
        for dataset in datasets
    ]


def _changes(epochs: Sequence[Iteration]) -> bool | None:
    """Whether the order differs between epochs; None where that cannot be told."""
    orders = [entry.samples for entry in epochs if len(entry.samples) > 1]
    if len(orders) > 1:
        return any(left != right for left, right in pairwise(orders))
    if orders and all(isinstance(sample, int) for sample in orders[0]):
        numbers = [sample for sample in orders[0] if isinstance(sample, int)]
        # The padding of a shard starts over with the first samples.
        if _ascends(numbers) or _ascends(numbers[:-1]):
            return False
    return None


def _ascends(numbers: Sequence[int]) -> bool:
    return all(left < right for left, right in pairwise(numbers))


def _shares(original: RunEvidence, run: RunEvidence) -> str:
    """How the samples of the first pass lie on the ranks."""
    reference, shards = next(iter(_passes(original, run)), (None, ()))
    if reference is None:
        return ""
    shown = " + ".join(str(len(shard.samples)) for shard in shards)
    if _repeats(reference.samples):
        return f"{shown} samples, drawn by each rank for itself"
    repeats = _repeats([sample for shard in shards for sample in shard.samples])
    return f"{shown} samples, {f'{repeats} of them padding' if repeats else 'none twice'}"


def _sizes(numbers: Sequence[int]) -> str:
    """Sizes of passes, those that are all alike once."""
    shown = [str(number) for number in dict.fromkeys(numbers)]
    several = "" if len(numbers) == 1 else f"{len(numbers)} times "
    return f"{several}{' or '.join(shown)}"


def _outcome(name: str, problems: Sequence[str], seen: str) -> Check:
    return failed(name, "\n".join(problems)) if problems else passed(name, seen)
