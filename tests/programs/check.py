"""Converts a program, runs it as one and as several processes, and tells what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from transpile import Finding, Level, Options, convert
from transpile.result import Outcome

from .comparison import differences, disagreements
from .processes import Gpus, Job, run, run_in_turn
from .program import LOCAL_STATISTICS

LIMIT = 30.0
#: Device rules are followed in Python, operation by operation.
LIMIT_ON_GPUS = 90.0
#: What a program must bear: a hundred times what sums in another order change.
DISTURBANCE = 1e-14
WORLD_SIZES = (2, 3)
ON_GPUS = 2
#: Two pretended GPUs, and those of the machine.
PRETENDED = Gpus(2)
REAL = Gpus()
#: What outputs call where processes agree on a decision.
AGREEING = ("from_main_process(", "any_rank(", "all_ranks(")

#: What may come of a program; those of the second line are mistakes of the tool.
RIGHT = (
    "clean",
    "noted",
    "warned",
    "warned and different",
    "refused",
    "stops",
    "order",
    "unstable",
    "unchanged",
)
WRONG = ("different", "one process differs", "crash", "hang", "diverged", "conversion failed")
#: The notes that say that what is shown is of one process's share.
SHOWS_SHARES = ("PT604",)
#: What outputs say that see, at the first batch, that the conversion does not fit the model.
STOPPED = "samples of this model depend on each other"
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


def check(
    text: str,
    options: Options,
    inexact: str = "",
    way: str = "data",
    gpus: Gpus | None = None,
) -> Checked:
    """Convert and run one script.

    Args:
        text: the script.
        options: how it is converted.
        inexact: why several processes may take other samples than one; empty if they may not.
        way: ``calls`` where every process draws the same whole batches: then they may not.
        gpus: the GPUs that it runs on, None for the CPU; where it decides, pretended ones also
            have results that differ from process to process.
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
    excused = inexact if way != "calls" or inexact == LOCAL_STATISTICS else ""
    if gpus is not None:
        outcome, details = _outcome_on_gpus(text, result.text, bool(excused), gpus)
    else:
        outcome, details = _outcome(text, result.text, bool(excused))
    shows_share = any(finding.code in SHOWS_SHARES for finding in findings)
    if outcome == "different" and shows_share and not details.startswith("parameters"):
        outcome = "noted"
    if warned:
        outcome = "warned and different" if outcome in WRONG else "warned"
    return Checked(outcome, details, findings, result.text)


def _outcome(text: str, converted: str, other_order: bool) -> tuple[str, str]:
    turns = [(text, 1), (converted, 1), *((converted, size) for size in WORLD_SIZES)]
    jobs = run_in_turn(turns, LIMIT)
    if len(jobs) == len(turns):
        outcome, details = _compared(jobs[0], iter(jobs[1:]), other_order)
        if outcome in RIGHT:
            return outcome, details
    # Whatever seems wrong is wrong only if it is so in processes that have done nothing else.
    expected = unhindered(text, 1)
    if expected.failed or expected.hung:
        return BROKEN, expected.ranks[0].errors
    fresh = (unhindered(converted, size) for size in (1, *WORLD_SIZES))
    outcome, details = _compared(expected, fresh, other_order)
    if outcome == "different" and any(differences(expected, run(text, 1, LIMIT, DISTURBANCE))):
        outcome = "unstable"
    return outcome, details


def _outcome_on_gpus(text: str, converted: str, other_order: bool, gpus: Gpus) -> tuple[str, str]:
    expected = unhindered(text, 1, gpus)
    if expected.failed or expected.hung:
        return BROKEN, _reason(expected)
    # One process on a real GPU is a job of its own, whose collectives are those of NCCL.
    alone = gpus if gpus.count else replace(gpus, launched=True)
    fresh = (unhindered(converted, size, alone) for size in (1, ON_GPUS))
    outcome, details = _compared(expected, fresh, other_order, (ON_GPUS,))
    if outcome == "different":
        disturbed = run(text, 1, limit_of(gpus), DISTURBANCE, gpus)
        return ("unstable" if any(differences(expected, disturbed)) else outcome), details
    if gpus.count and outcome in RIGHT and any(word in converted for word in AGREEING):
        return _outcome_with_noise(converted) or (outcome, details)
    return outcome, details


def _outcome_with_noise(converted: str) -> tuple[str, str] | None:
    """What goes wrong where results differ from process to process; None where nothing does."""
    noisy = unhindered(converted, ON_GPUS, replace(PRETENDED, noise=True))
    if noisy.failed:
        return "crash", f"with noise {_reason(noisy)}"
    if noisy.hung:
        return "hang", "with noise"
    apart = "; ".join(disagreements(noisy))
    return ("diverged", f"with noise {apart}") if apart else None


def limit_of(gpus: Gpus | None) -> float:
    """After how many seconds a run is ended."""
    return LIMIT_ON_GPUS if gpus is not None and gpus.count else LIMIT


def unhindered(text: str, size: int, gpus: Gpus | None = None) -> Job:
    """A run that is tried again where it hangs: Gloo may, rarely, where its groups are freed."""
    limit = limit_of(gpus)
    job = run(text, size, limit, gpus=gpus)
    for _ in range(2):
        if not job.hung:
            break
        job = run(text, size, limit, gpus=gpus)
    return job


def _compared(
    expected: Job,
    found_jobs: Iterator[Job],
    other_order: bool,
    sizes: tuple[int, ...] = WORLD_SIZES,
) -> tuple[str, str]:
    """What differs; later jobs are not asked for once one does."""
    alone = next(found_jobs)
    if alone.failed:
        return "crash", f"as one process {_reason(alone)}"
    found = "; ".join(differences(expected, alone))
    if found:
        return "one process differs", found
    for size, several in zip(sizes, found_jobs, strict=True):
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
