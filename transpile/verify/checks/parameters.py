"""Whether the parameters are what they should be."""

from __future__ import annotations

from math import inf, isfinite, prod
from operator import sub

from transpile.verify.evidence import OptimizerEvidence, RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed

SINGLE_PROCESS_TOLERANCE = 1e-12
"""Relative difference allowed to a single process, which computes what the original computes."""

# Below this, differences of a parameter count as they are: relative to noise everything differs.
_SMALLEST_SCALE = 1e-8


def equal_on_all_ranks(original: RunEvidence, run: RunEvidence, _: Expectation) -> Check:
    """Every rank ends with the same parameters, bit for bit."""
    name = "parameters equal on all ranks"
    if not any(rank.optimizers for rank in run.ranks):
        return not_applicable(name, "nothing is trained")
    first = run.first.optimizers
    problems: list[str] = []
    for rank in run.ranks[1:]:
        if len(rank.optimizers) != len(first):
            problems.append(
                f"rank {rank.rank} has {len(rank.optimizers)} optimizers that took steps, "
                f"rank 0 {len(first)}"
            )
            continue
        for ours, theirs in zip(first, rank.optimizers, strict=True):
            if ours.sharded:
                return not_applicable(name, "parameters are spread over the ranks")
            if ours.digest != theirs.digest or ours.digest is None:
                problems.append(_divergence(ours, theirs, rank.rank))
    if problems:
        return failed(name, "\n".join(problems))
    tensors = sum(len(optimizer.shapes) for optimizer in first)
    return passed(name, f"{tensors} tensors, bit for bit on {len(run.ranks)} ranks")


def equivalence(original: RunEvidence, run: RunEvidence, expectation: Expectation) -> Check:
    """The final parameters of every optimizer equal the original's within the tolerance."""
    name = "equivalence"
    if expectation.tolerance is None:
        return not_applicable(name, "not asked for")
    return _as_the_original(name, original, run, expectation.tolerance)


def single_process_parameters(original: RunEvidence, run: RunEvidence) -> Check:
    """One process ends with the parameters of the original."""
    name = "single process equals original"
    return _as_the_original(name, original, run, SINGLE_PROCESS_TOLERANCE)


def largest_difference(ours: OptimizerEvidence, theirs: OptimizerEvidence) -> float:
    """The largest difference between two optimizers' parameters.

    Each parameter tensor's largest difference is taken relative to its largest value; infinite
    where shapes differ or one of the values is no finite number.
    """
    if ours.digest is not None and ours.digest == theirs.digest:
        return 0.0
    if ours.shapes != theirs.shapes:
        return inf
    left, right = ours.read_values(), theirs.read_values()
    largest, start = 0.0, 0
    for shape in ours.shapes:
        size = prod(shape)
        a, b = left[start : start + size], right[start : start + size]
        start += size
        if not size:
            continue
        if len(a) != size or len(b) != size or not all(map(isfinite, a + b)):
            return inf
        scale = max(max(map(abs, a)), _SMALLEST_SCALE)
        largest = max(largest, max(map(abs, map(sub, a, b))) / scale)
    return largest


def _as_the_original(name: str, original: RunEvidence, run: RunEvidence, tolerance: float) -> Check:
    expected, found = original.first.optimizers, run.first.optimizers
    if not expected:
        return not_applicable(name, "the original trains nothing")
    if len(expected) != len(found):
        return failed(name, f"{len(found)} optimizers took steps, in the original {len(expected)}")
    if any(optimizer.sharded for optimizer in found):
        return not_applicable(name, "parameters are spread over the ranks")
    largest = 0.0
    for ours, theirs in zip(expected, found, strict=True):
        difference = largest_difference(ours, theirs)
        if not difference <= tolerance:
            return failed(
                name,
                f"{theirs.name}: parameters differ from the original's by {difference:.2g} "
                f"(relative, allowed {tolerance:.0e})",
            )
        largest = max(largest, difference)
    return passed(name, f"largest relative difference {largest:.2g}" if largest else "bit for bit")


def _divergence(ours: OptimizerEvidence, theirs: OptimizerEvidence, rank: int) -> str:
    if ours.digest is None or theirs.digest is None:
        return f"{ours.name}: rank 0 or rank {rank} did not reach the end"
    text = f"{ours.name}: rank {rank} differs from rank 0 by {largest_difference(ours, theirs):.2g}"
    if ours.first_digest == theirs.first_digest:
        text += ", not yet after the first step"
    bare = ours.wrapped.count(False)
    if bare:
        text += f"; {bare} of its {len(ours.wrapped)} parameters are in no DistributedDataParallel"
    return text
