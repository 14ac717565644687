"""Which checks judge which run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from transpile.verify.checks import (
    checkpoints,
    evaluation,
    files,
    outcome,
    output,
    parameters,
    shards,
    steps,
)
from transpile.verify.evidence import RunEvidence
from transpile.verify.expectation import Expectation
from transpile.verify.report import Check, failed, not_applicable, passed

_OUTCOME: tuple[Callable[[RunEvidence], Check], ...] = (outcome.exit_status, outcome.no_hang)

_DISTRIBUTED: tuple[Callable[[RunEvidence, RunEvidence, Expectation], Check], ...] = (
    parameters.equal_on_all_ranks,
    shards.disjoint,
    shards.complete,
    shards.order,
    steps.global_batch,
    steps.optimizer_steps,
    steps.learning_rates,
    evaluation.evaluation_complete,
    files.files_written_once,
    files.directories_made_once,
    output.printed_once,
    output.same_lines,
    parameters.equivalence,
    output.printed_numbers,
    output.tracked_numbers,
    files.same_files,
)

_EVERY: tuple[Callable[[RunEvidence, RunEvidence], Check], ...] = (
    checkpoints.checkpoint_keys,
    checkpoints.checkpoint_loads,
)


#: What is compared with one run of the original, by chance differently with another: a part of the
#: data that no seed governs, or how long a decision lets it train.
CHANCE = frozenset(
    {
        "training shards complete", "optimizer steps", "learning rates", "evaluation complete",
        "same lines as the original",
    }
)  # fmt: skip

# One process does what the original does, chance included: its generators give the same numbers.
_EXACTLY = Expectation(tolerance=parameters.SINGLE_PROCESS_TOLERANCE)


def judge_original(original: RunEvidence) -> tuple[Check, ...]:
    """Whether the original ran at all, so that there is something to compare with."""
    return tuple(check(original) for check in _OUTCOME)


def judge_single(original: RunEvidence, run: RunEvidence) -> tuple[Check, ...]:
    """Judge the converted script started as one process, without a launcher."""
    ended = tuple(check(run) for check in _OUTCOME)
    if not run.finished:
        return ended
    return (
        *ended,
        _both(
            parameters.single_process_parameters(original, run),
            output.single_process_output(original, run),
        ),
        files.same_files(original, run, _EXACTLY),
        *(check(original, run) for check in _EVERY),
    )


def judge_distributed(
    original: RunEvidence, run: RunEvidence, expectation: Expectation
) -> tuple[Check, ...]:
    """Judge the converted script started as several processes."""
    ended = tuple(check(run) for check in _OUTCOME)
    if not run.finished:
        # What an unfinished run left undone says nothing about the conversion.
        return ended
    return (
        *ended,
        *(check(original, run, expectation) for check in _DISTRIBUTED),
        *(check(original, run) for check in _EVERY),
    )


def may_be_chance(checks: Sequence[Check]) -> bool:
    """Whether something failed that chance alone may bring about."""
    return any(check.failed and check.name in (*CHANCE, files.SAME_FILES) for check in checks)


def excuse_names(
    checks: Sequence[Check], original: RunEvidence, again: RunEvidence, run: RunEvidence
) -> tuple[Check, ...]:
    """Take back a failure over files that two runs of the original name differently as well."""
    judged = files.names_of_chance(original, again, run)
    return tuple(
        judged if judged is not None and check.failed and check.name == files.SAME_FILES else check
        for check in checks
    )


def excuse_chance(
    checks: Sequence[Check], again: Sequence[Check], names: Collection[str] | None = None
) -> tuple[Check, ...]:
    """Take back the failures that the original shows, too, when it is compared with itself.

    Args:
        checks: judgements on the converted script.
        again: judgements on a second run of the original in its place.
        names: the judgements that may be taken back; all where none are given.
    """
    chance = {
        check.name: check.detail
        for check in again
        if check.failed and (names is None or check.name in names)
    }
    return tuple(
        (
            not_applicable(
                check.name, f"two runs of the original differ as well: {chance[check.name]}"
            )
            if check.failed and check.name in chance
            else check
        )
        for check in checks
    )


def _both(parameters_equal: Check, lines_equal: Check) -> Check:
    """One check that fails where either does."""
    failures = [check.detail for check in (parameters_equal, lines_equal) if check.failed]
    if failures:
        return failed(parameters_equal.name, "\n".join(failures))
    if parameters_equal.passed:
        return parameters_equal
    return passed(lines_equal.name, f"the same lines; {parameters_equal.detail}")
