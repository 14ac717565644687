"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from transpile.verify.evidence import RunEvidence


class Status(Enum):
    """How a check came out."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Check:
    """One judgement on one run.

    Args:
        name: what was judged, for example ``optimizer steps``.
        status: how it came out.
        detail: what was seen; where the check failed, which rank, file or step it failed on.
    """

    name: str
    status: Status
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check was applicable and holds."""
        return self.status is Status.PASSED

    @property
    def failed(self) -> bool:
        """Whether the check was applicable and does not hold."""
        return self.status is Status.FAILED


def passed(name: str, detail: str = "") -> Check:
    """A check that holds."""
    return Check(name, Status.PASSED, detail)


def failed(name: str, detail: str) -> Check:
    """A check that does not hold, and where."""
    return Check(name, Status.FAILED, detail)


def not_applicable(name: str, detail: str) -> Check:
    """A check that has nothing to judge, and why."""
    return Check(name, Status.NOT_APPLICABLE, detail)


@dataclass(frozen=True)
class RunReport:
    """The judgements on one run of one script.

    Args:
        label: which run it was: ``original``, ``1 process``, ``2 processes`` ...
        world_size: its number of processes; 0 stands for the original script.
        checks: the judgements, in the order of the table.
        seconds: how long the run took.
    """

    label: str
    world_size: int
    checks: tuple[Check, ...]
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not any(check.failed for check in self.checks)

    def check(self, name: str) -> Check:
        """The check of that name.

        Raises:
            KeyError: the run was not judged by a check of that name.
        """
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit: the original's run, then the converted script's.

    Args:
        runs: the reports, the original's first; where the original failed there are no others.
        seen: what was observed in each of the runs.
        steps: after how many optimizer steps each run was ended; 0 where none was.
    """

    runs: tuple[RunReport, ...]
    seen: tuple[RunEvidence, ...] = field(default=(), repr=False)
    steps: int = 0

    @property
    def extent(self) -> str:
        """What was run of the scripts, where that is not all of them."""
        if not self.steps:
            return ""
        steps = f"{self.steps} optimizer step{'s' if self.steps > 1 else ''}"
        return f"Every run was ended after {steps}: what comes later was not looked at."

    @property
    def passed(self) -> bool:
        """Whether no check of any run failed."""
        return all(run.passed for run in self.runs)

    @property
    def failed_names(self) -> tuple[str, ...]:
        """Names of the failed checks, each once, in the order of the table."""
        names = (check.name for run in self.runs for check in run.checks if check.failed)
        return tuple(dict.fromkeys(names))

    def run(self, world_size: int) -> RunReport:
        """The report on the run with that many processes (0: the original).

        Raises:
            KeyError: there was no such run.
        """
        for run in self.runs:
            if run.world_size == world_size:
                return run
        raise KeyError(world_size)
