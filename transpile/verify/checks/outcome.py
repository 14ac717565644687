"""Whether the processes of a run ended, and how."""

from __future__ import annotations

import re

from transpile.verify.evidence import Ending, RankEvidence, RunEvidence
from transpile.verify.report import Check, failed, not_applicable, passed

# PyTorch prefixes tracebacks with the rank once there is a process group.
_EXCEPTION = re.compile(r"(?:\[rank\d+\]: ?)?((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*)")


def exit_status(run: RunEvidence) -> Check:
    """Every process ended with exit status 0."""
    name = "exit status"
    ended = [rank for rank in run.ranks if rank.ending is Ending.EXITED]
    bad = [rank for rank in ended if rank.exit_status != 0]
    if bad:
        return failed(name, "\n".join(_failure(rank) for rank in bad))
    if len(ended) < len(run.ranks):
        return not_applicable(name, "the run was ended at the time limit")
    return passed(name, "0" if len(ended) == 1 else f"0 of {len(ended)} processes")


def no_hang(run: RunEvidence) -> Check:
    """Every process ended by itself."""
    name = "no hang"
    hung = [rank for rank in run.ranks if rank.ending is Ending.HUNG]
    if hung:
        return failed(name, "\n".join(_waiting(rank, run.seconds) for rank in hung))
    return passed(name, f"ended after {run.seconds:.1f} s")


def _failure(rank: RankEvidence) -> str:
    status = rank.exit_status or 0
    how = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
    reason = _reason(rank.errors)
    return f"rank {rank.rank}: {how}" + (f": {reason}" if reason else "")


def _reason(errors: str) -> str:
    """The exception that standard error tells of, or else its last line."""
    lines = [line for line in errors.splitlines() if line.strip()]
    for line in reversed(lines):
        exception = _EXCEPTION.match(line)
        if exception:
            return exception.group(1)
    return lines[-1].strip() if lines else ""


def _waiting(rank: RankEvidence, seconds: float) -> str:
    where = f" in {rank.place}" if rank.place else ""
    return f"rank {rank.rank}: still running after {seconds:.0f} s{where}"
