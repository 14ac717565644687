"""The two exact ways to share a training out, and which one is taken.

*data*: each rank draws its share of every batch. *calls*: every rank draws the whole batch, and
computes its rows of each call of a trained model. Sharding data costs the least, and is right
where every loss, number and state of the script is shown to be put together again; sharding
calls is right whatever the script does with the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.plan.model import Plan, Way
from transpile.records import dataclass, replace
from transpile.result import Result

COST = (
    "every rank draws every batch and receives the outputs of all rows; losses, numbers and state "
    "of the script stay those of one process"
)
WHOLE = "every rank computes every batch whole, which is right, but no faster with more of them"
#: How the codes of decisions end by which calls, or those of methods, are split.
SPLITTING = ("351", "361")


@dataclass(frozen=True, eq=False)
class Attempt:
    """What became of a script on one way.

    Args:
        result: the conversion, or the refusal.
        doubts: the findings because of which the other way may be the better one.
    """

    result: Result
    doubts: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Whether something stands in the way, though it may be written in spite of that."""
        return any(finding.level is Level.ERROR for finding in self.result.findings)


def first_way(options: Options) -> Way:
    """The way that is tried first."""
    wants_calls = options.shard == "calls" or options.batches == "broadcast"
    return "calls" if wants_calls else "data"


def may_split_calls(plan: Plan, options: Options) -> bool:
    """Whether calls may be sharded where sharding data leaves doubts."""
    return (
        plan.way == "data"
        and options.shard == "auto"
        and plan.table.splits_calls
        and options.batch_size == "global"
        and options.strategy == "ddp"
        and options.compression == "none"
        and options.paddle_api == "parallel"
        and options.mode in ("auto", "collective")
        and any(not backward.event.detached for backward in plan.backwards)
    )


def settled(data: Attempt, calls: Attempt) -> list[Finding]:
    """The doubts of sharding data that sharding calls does not have."""
    left = {(finding.code, finding.line) for finding in calls.result.findings}
    return [doubt for doubt in data.doubts if (doubt.code, doubt.line) not in left]


def settles(data: Attempt, calls: Attempt) -> bool:
    """Whether sharding calls is the better way where sharding data leaves doubts."""
    return not calls.refused and bool(settled(data, calls))


def choose(data: Attempt, calls: Attempt, path: str) -> Result:
    """The better of two attempts, with a word on why.

    Args:
        data: what became of the script with its batches sharded; it leaves doubts.
        calls: what became of it with calls of its models sharded.
        path: how findings name the script.
    """
    if settles(data, calls):
        return with_finding(calls.result, split_calls(settled(data, calls)[0], path, calls.result))
    known = {finding.code for finding in data.result.findings}
    refusals = [f for f in calls.result.findings if f.level is Level.ERROR and f.code not in known]
    if not refusals:
        return data.result
    why = refusals[0]
    message = f"nor can calls of models be split over the processes: {why.code} {why.message}"
    if not data.refused:
        message = message.removeprefix("nor can ").replace("models be", "models cannot be")
    note = Finding("DT016", Level.NOTE, why.path, why.line, why.column, message)
    return with_finding(data.result, note)


def split_calls(doubt: Finding, path: str, result: Result) -> Finding:
    """The note on a conversion that shards calls, or where nothing of them can be split."""
    what, cost = "calls of models are split, not batches", COST
    if not any(decision.code.endswith(SPLITTING) for decision in result.decisions):
        what, cost = "neither batches nor calls of models are split", WHOLE
    message = f"{what} ({doubt.code}: {doubt.message}): {cost}"
    return Finding("DT015", Level.NOTE, path, doubt.line, doubt.column, message)


def whole_evaluations(plan: Plan) -> Iterator[Finding]:
    """A note where evaluations shall be sharded, which splitting calls of models does not do."""
    if plan.way == "calls" and plan.options.evaluation == "shard":
        yield Finding(
            "DT019",
            Level.NOTE,
            plan.entry.source.path,
            0,
            0,
            "--eval shard has no effect where calls of models are split: every rank evaluates "
            "everything, and its numbers are those of one process",
            "leave --eval shard out, or choose --shard data",
        )


def with_finding(result: Result, finding: Finding) -> Result:
    """A result that says one thing more."""
    findings = sorted({*result.findings, finding}, key=lambda each: each.sort_key)
    return replace(result, findings=tuple(findings))
