"""Whether what is saved is what the original saves."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.verify.checks.text import mask_numbers
from transpile.verify.evidence import Checkpoint, RunEvidence
from transpile.verify.report import Check, failed, not_applicable, passed

_SHOWN = 3


def checkpoint_keys(original: RunEvidence, run: RunEvidence) -> Check:
    """Saved files have the keys that the original's have, at every level."""
    name = "checkpoint keys"
    pairs = list(_pairs(original, run))
    if not pairs:
        return not_applicable(name, "nothing is saved by both")
    for ours, theirs in pairs:
        missing = [key for key in ours.leaves if key not in theirs.leaves]
        extra = [key for key in theirs.leaves if key not in ours.leaves]
        if missing or extra:
            problems = [f"missing: {_listed(missing)}"] if missing else []
            problems += [f"not in the original: {_listed(extra)}"] if extra else []
            return failed(name, f"{theirs.path}: " + "; ".join(problems))
    return passed(name, f"{len(pairs)} saved")


def checkpoint_loads(original: RunEvidence, run: RunEvidence) -> Check:
    """What is saved under a key has the original's type and shape."""
    name = "checkpoint loads in the original model"
    pairs = list(_pairs(original, run))
    if not pairs:
        return not_applicable(name, "nothing is saved by both")
    for ours, theirs in pairs:
        for key, leaf in ours.leaves.items():
            found = theirs.leaves.get(key, leaf)
            if found != leaf:
                return failed(name, f"{theirs.path}: {key} is {found}, in the original {leaf}")
    values = sum(len(ours.leaves) for ours, _ in pairs)
    return passed(name, f"{values} values of the same types and shapes")


def _pairs(original: RunEvidence, run: RunEvidence) -> Iterator[tuple[Checkpoint, Checkpoint]]:
    """The last state of each file that both save, and the original's state of it."""
    theirs = {entry.path: entry for rank in run.ranks for entry in rank.checkpoints}
    masked = {mask_numbers(path): entry for path, entry in theirs.items()}
    for path, entry in {entry.path: entry for entry in original.first.checkpoints}.items():
        found = theirs.get(path) or masked.get(mask_numbers(path))
        if found is not None:
            yield entry, found


def _listed(keys: list[str]) -> str:
    text = ", ".join(keys[:_SHOWN])
    return f"{text} and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else text
