"""Converts a program, runs it as one and as several processes, and tells what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transpile import Finding, Level, Options, convert
from transpile.result import Outcome

from .comparison import differences, disagreements
from .processes import Job, run
from .program import LOCAL_STATISTICS

LIMIT = 20.0
#: What a program must bear: a hundred times what sums in another order change.
DISTURBANCE = 1e-14
WORLD_SIZES = (2, 3)

#: What may come of a program; those of the second line are mistakes of the tool.
RIGHT = (
    "clean",
    "warned",
    "warned and different",
    "refused",
    "stops",
    "order",
    "unstable",
    "unchanged",
)
WRONG = ("different", "one process differs", "crash", "hang", "diverged", "conversion failed")
#: What outputs say that see, at the first batch, that the conversion does not fit the model.
STOPPED = "the samples of this model depend on each other"
#: The generator's own mistake.
BROKEN = "original fails"


@dataclass(frozen=True)
class Checked:
    """What came of a program.

    Args:
        outcome: one word of the lists above.
        details: what differs or fails.
        findings: what the tool said.
        converted: the output's text.
    """

    outcome: str
    details: str
    findings: tuple[Finding, ...] = ()
    converted: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the tool made a mistake."""
        return self.outcome in WRONG

    @property
    def kind(self) -> str:
        """What a smaller program must show, too: the outcome and what differs, without numbers."""
        return f"{self.outcome}: {self.details.split(' ')[0]}"


def check(text: str, options: Options, inexact: str = "", way: str = "data") -> Checked:
    """Convert and run one script.

    Args:
        text: the script.
        options: how it is converted.
        inexact: why several processes may take other samples than one; empty if they may not.
        way: ``calls`` where every process draws the same whole batches: then they may not.
    """
    try:
        result = convert(text, options, path="train.py")
    except Exception as error:
        return Checked("conversion failed", repr(error))
    findings = result.findings
    if result.outcome is Outcome.REFUSED:
        return Checked("refused", "", findings)
    if result.outcome is not Outcome.CONVERTED:
        return Checked("unchanged", "", findings)
    warned = result.level >= Level.WARNING
    expected = run(text, 1, LIMIT)
    if expected.failed or expected.hung:
        return Checked(BROKEN, expected.ranks[0].errors, findings)
    excused = inexact if way != "calls" or inexact == LOCAL_STATISTICS else ""
    outcome, details = _compared(result.text, expected, bool(excused))
    if outcome == "different" and any(differences(expected, run(text, 1, LIMIT, DISTURBANCE))):
        outcome = "unstable"
    if warned:
        outcome = "warned and different" if outcome in WRONG else "warned"
    return Checked(outcome, details, findings, result.text)


def _compared(converted: str, expected: Job, other_order: bool) -> tuple[str, str]:
    alone = run(converted, 1, LIMIT)
    if alone.failed:
        return "crash", f"as one process {_reason(alone)}"
    found = "; ".join(differences(expected, alone))
    if found:
        return "one process differs", found
    for size in WORLD_SIZES:
        several = run(converted, size, LIMIT)
        if several.failed:
            outcome = "stops" if STOPPED in _reason(several) else "crash"
            return outcome, f"{size} processes: {_reason(several)}"
        if several.hung:
            return "hang", f"{size} processes"
        if other_order:
            apart = "; ".join(disagreements(several))
            if apart:
                return "diverged", f"{size} processes: {apart}"
            continue
        found = "; ".join(differences(expected, several))
        if found:
            return "different", f"{found} ({size} processes)"
    return ("order" if other_order else "clean"), ""


def _reason(job: Job) -> str:
    reasons = []
    for rank in job.ranks:
        if rank.status:
            lines = rank.errors.strip().splitlines()
            reasons.append(lines[-1] if lines else f"exit status {rank.status}")
    # A rank whose partner has gone says so; why it went is the partner's to say.
    own = [reason for reason in reasons if "gloo" not in reason]
    return (own or reasons or ["no rank failed"])[0]


def named(checked: Checked, origins: Mapping[int, str]) -> set[str]:
    """The constructs that the warnings stand at."""
    return {
        origins[finding.line]
        for finding in checked.findings
        if finding.level >= Level.WARNING and finding.line in origins
    }
