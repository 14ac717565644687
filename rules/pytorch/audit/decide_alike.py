"""Find decisions that each process takes by values of its own.

What:
    A condition that ends a loop or guards a training step or a collective, and is computed from
    this process's batch, its clock, its random numbers, a signal or its memory, is an error; so is
    one on results of an evaluation of which each process sees a part. A handler that goes on after
    an error of a training step is one, too.

Why:
    The processes answer differently, and one that leaves the loop, or skips a step, leaves the
    others waiting. Results of the same evaluation differ in their last bits, and with batch norm
    visibly: those are a warning.

Before:
    if loss.item() > 100:
        continue

After:
    flag = torch.tensor(float(loss.item() > 100), device=loss.device)
    dist.all_reduce(flag)
    if flag.item() > 0:
        continue

Refuses when:
    processes that answer differently do not do the same afterwards.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Branch, Call
from transpile.facts.values import Constant, External, Opaque, Value, Values, only_constant
from transpile.finding import Level
from transpile.plan.graph import called_names, walk_back
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Remark, Ruling
from transpile.rules.pytorch.agreement._divergence import NOTHING_REDUCED, Cause, Divergence
from transpile.rules.pytorch.agreement._together import Condition, conditions_of
from transpile.rules.pytorch.agreement.refuse_rank_conditional_collectives import behind_handlers
from transpile.rules.pytorch.audit._data import engines, evaluates_parts, takes_parts
from transpile.rules.pytorch.audit._splits import splits_calls

CODES = {
    "AU106": "a decision depends on what this process alone has seen",
    "AU107": "a decision depends on results that may differ between processes",
    "AU108": "an error of one process is swallowed while the others wait",
}
SEEDS = ("torch.manual_seed", "random.seed", "numpy.random.seed", "torch.cuda.manual_seed")
NUMBER_OR_NOT = frozenset(
    f"{package}.{word}"
    for package in ("math", "torch", "numpy")
    for word in ("isnan", "isinf", "isfinite")
)
ON_DISK = (Cause.FILES, Cause.PRESENCE)


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each condition and each handler."""
    if engines(audit):
        return
    yield from conditions(audit)
    for answer in behind_handlers(audit.plan):
        if isinstance(answer, Ruling) and answer.verdict is Verdict.REFUSE:
            yield Remark.error("AU108", answer, answer.reason, answer.advice)
        elif isinstance(answer, Remark):
            yield replace(answer, code="AU108", level=Level.WARNING)


def conditions(audit: Audit) -> Iterator[Remark]:
    """The conditions that processes may answer differently."""
    divergence: Divergence | None = None
    ranks = Ranks(audit.vocabulary)
    for condition in conditions_of(audit.plan):
        if not condition.decides or not is_everybodys(audit, condition):
            continue
        if ranks.decide(audit.facts.values_of(condition.test)):
            continue
        if divergence is None:
            divergence = Divergence(audit.plan, varied_from(audit), reduced=NOTHING_REDUCED)
        cause = divergence.cause(condition.event.module, condition.test)
        if cause is None or cause in ON_DISK:
            continue
        if cause is Cause.BATCH and takes_parts(audit):
            # All processes have the same batch.
            continue
        if cause in (Cause.BATCH, Cause.RESULTS) and splits_calls(audit):
            continue
        values = audit.facts.values_of(condition.test)
        if cause is Cause.NORM and asks_for_a_number(values):
            continue
        if cause is Cause.BATCH and asks_for_a_key(values):
            continue
        parted = cause is Cause.RESULTS and evaluates_parts(audit)
        certain = cause is not Cause.NORM and (cause is not Cause.RESULTS or parted)
        yield Remark(
            "AU106" if certain else "AU107",
            Level.ERROR if certain else Level.WARNING,
            condition.event.module,
            condition.test,
            reason(condition, cause, parted),
            "let all processes decide alike: all-reduce the number, or broadcast rank 0's answer",
        )


def is_everybodys(audit: Audit, condition: Condition) -> bool:
    """Whether every process comes to what depends on a condition, or leaves a loop by it."""
    if audit.on_all_ways(condition.step.event):
        return True
    # What is passed by first may be what one process does alone.
    return bool(condition.exits) and all(
        (
            not audit.tells_apart(frame.node.test)
            if isinstance(frame, Branch) and isinstance(frame.node, cst.If)
            else not isinstance(frame, Call) or frame.node is None or audit.on_all(frame.node)
        )
        for frame in condition.event.stack
    )


def asks_for_a_number(values: Values) -> bool:
    """Whether a condition asks whether something is a number at all, as last digits never say."""
    return any(
        not NUMBER_OR_NOT.isdisjoint(called_names(value)) or is_compared_to_infinity(value)
        for value in walk_back(values)
    )


def asks_for_a_key(values: Values) -> bool:
    """Whether a condition asks whether batches have a part of some name, as all do or none."""
    return bool(values) and all(
        isinstance(value, Opaque)
        and value.name in ("In", "NotIn")
        and only_constant(value.operands[0]) is not None
        and all(isinstance(one, Opaque) and one.kind == "element" for one in value.operands[1])
        for value in values
    )


def is_compared_to_infinity(value: Value) -> bool:
    """Whether a value says that something is infinite, or not the same as itself."""
    if not isinstance(value, Opaque) or value.name not in ("Equal", "NotEqual"):
        return False
    sides = value.operands
    if len(sides) == 2 and sides[0] == sides[1]:
        return True
    return any(is_infinite(one) for side in sides for one in side)


def is_infinite(value: Value) -> bool:
    """Whether a value is infinity as it is written."""
    if isinstance(value, Opaque) and value.kind == "operation" and len(value.operands) == 1:
        return any(is_infinite(one) for one in value.operands[0])
    if isinstance(value, Opaque) and "builtins.float" in called_names(value):
        given = only_constant(value.arguments.items[0].values) if value.arguments.items else None
        return given is not None and "inf" in str(given.value).lower()
    if isinstance(value, External):
        return value.name in ("math.inf", "numpy.inf", "torch.inf")
    return isinstance(value, Constant) and str(value.value).lstrip("-") == "inf"


def reason(condition: Condition, cause: Cause, parted: bool) -> str:
    """What is wrong with a condition."""
    said = cause.value
    if cause is Cause.RESULTS:
        said = (
            "results on this process's part of the data"
            if parted
            else "results of the model, which differ a little between processes"
        )
    return (
        f"this decision depends on {said}, so that processes part here: the others wait in the "
        f"{condition.step.word}"
    )


def varied_from(audit: Audit) -> int:
    """The position of the first event at which random numbers differ between processes."""
    ranks = Ranks(audit.vocabulary)
    seeds = audit.facts.calls_to(*SEEDS)
    if not seeds:
        return 0
    for event in seeds:
        if any(ranks.depend(item.values) for item in event.arguments.items):
            return event.order
    return len(audit.facts.events)
