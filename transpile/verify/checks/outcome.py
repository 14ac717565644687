"""Whether the processes of a run ended, and how."""

from __future__ import annotations

from transpile.verify.evidence import Ending, RankEvidence, RunEvidence
from transpile.verify.report import Check, failed, not_applicable, passed


def exit_status(run: RunEvidence) -> Check:
    """Every process ended with exit status 0."""
    name = "exit status"
    ended = [rank for rank in run.ranks if rank.ending is Ending.EXITED]
    bad = [rank for rank in ended if rank.exit_status != 0]
    if bad:
        # Others fail in its wake, as a rule by a lost connection: the one that failed in the
        # script's own code is the one to read, and it says more.
        return failed(name, "\n".join(_failure(rank) for rank in bad))
    if len(ended) < len(run.ranks):
        return not_applicable(name, "the run was ended at the time limit")
    return passed(name)


def no_hang(run: RunEvidence) -> Check:
    """Every process ended by itself."""
    name = "no hang"
    hung = [rank for rank in run.ranks if rank.ending is Ending.HUNG]
    if hung:
        return failed(name, "\n".join(_waiting(rank, run.seconds) for rank in hung))
    return passed(name)


def _failure(rank: RankEvidence) -> str:
    status = rank.exit_status or 0
    how = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
    lines = [line for line in rank.errors.splitlines() if line.strip()]
    return f"rank {rank.rank}: {how}" + (f": {lines[-1].strip()}" if lines else "")


def _waiting(rank: RankEvidence, seconds: float) -> str:
    where = f" in {rank.place}" if rank.place else ""
    return f"rank {rank.rank}: still running after {seconds:.0f} s{where}"
