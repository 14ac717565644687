"""Whether what is reported is computed from the whole data."""

from __future__ import annotations

from collections import Counter

from transpile.verify.evidence import Iteration, RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed


def evaluation_complete(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """What is evaluated is visited by every rank that takes part, or by all without repeats."""
    name = "evaluation complete"
    expected = original.first.evaluation
    if not expected:
        return not_applicable(name, "no data loader is used without training")
    # Evaluation on one rank alone is complete, too: the others then make no pass.
    taking_part = [rank for rank in run.ranks if rank.evaluation]
    if not taking_part:
        return failed(name, "no rank evaluates")
    wanted, whose = len(expected), "the original"
    if expectation.length_may_differ:
        wanted, whose = len(taking_part[0].evaluation), f"rank {taking_part[0].rank}"
    for rank in taking_part:
        if len(rank.evaluation) != wanted:
            return failed(
                name,
                f"rank {rank.rank} makes {len(rank.evaluation)} passes without training, "
                f"{whose} {wanted}",
            )
    for number, reference in enumerate(expected[:wanted]):
        shares = [rank.evaluation[number] for rank in taking_part]
        if not _is_complete(reference, shares):
            visits = ", ".join(
                f"rank {rank.rank}: {_visits(share)}"
                for rank, share in zip(taking_part, shares, strict=True)
            )
            return failed(
                name, f"pass {number}: {visits}; in the original {_visits(reference)} samples"
            )
    first = [rank.evaluation[0] for rank in taking_part] if wanted else []
    shown = " + ".join(_visits(share) for share in first)
    return passed(name, f"{shown} samples, in the original {_visits(expected[0])}")


def _is_complete(reference: Iteration, shares: list[Iteration]) -> bool:
    visited = len(set(reference.samples))
    if not reference.exhausted or visited not in (
        len(reference.samples),
        reference.dataset_length,
    ):
        # A part of the data set, or draws: which samples were seen may be chance, how many not.
        wanted = len(reference.samples)
        counts = [len(share.samples) for share in shares]
        return all(count == wanted for count in counts) or sum(counts) == wanted
    whole = Counter(reference.samples)
    parts = [Counter(share.samples) for share in shares]
    return all(part == whole for part in parts) or sum(parts, Counter()) == whole


def _visits(entry: Iteration) -> str:
    repeats = len(entry.samples) - len(set(entry.samples))
    return f"{len(entry.samples)}" + (f" ({repeats} repeated)" if repeats else "")
