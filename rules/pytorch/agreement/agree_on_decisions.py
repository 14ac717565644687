"""Let rank 0 decide for all, wherever the processes could decide differently.

What:
    A condition that changes what the processes do together (it ends a loop, guards a training
    step, changes the learning rate or the weights) and whose value is computed from results of the
    model, the clock, files, memory or random numbers takes rank 0's answer. So does a number that
    a scheduler is given. A check for NaN in the process's own batch is true where it is on any; so
    is one for samples that a loss is taken over.

Why:
    Results of the same evaluation differ in their last bits between processes, and visibly with
    batch norm. One process that stops early, or steps once less, leaves all others waiting.

Before:
    if early_stopping.early_stop:
        break

After:
    if from_main_process(early_stopping.early_stop):
        break

Refuses when:
    the condition depends on the process's own part of the batch, and it is no check for NaN or for
    selected samples: what the whole batch would have answered is not known then. The same holds for
    numbers by which parameters, gradients or the learning rate are changed, and for the number of
    samples of such a part among them.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.facts.walk import descendants
from transpile.layout import wrap_expression
from transpile.plan.flow.places import spelled_out
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.agreement._amounts import amounts, counts_samples
from transpile.rules.pytorch.agreement._called_back import called_back
from transpile.rules.pytorch.agreement._decisions import (
    Agreement,
    Decision,
    Decisions,
    sources,
)
from transpile.rules.pytorch.agreement._divergence import ON_DISK, Cause, Divergence
from transpile.rules.pytorch.agreement._together import Condition, steps_of
from transpile.rules.pytorch.losses._asked import asks_for_any, last_word
from transpile.rules.pytorch.losses._uneven_rounds import uneven_rounds

CODES = {
    "PT711": "all processes take rank 0's decision",
    "PT712": "a decision depends on one process's part of the batch",
    "PT713": "all processes take rank 0's number",
    "PT714": "a decision is taken before the processes know each other",
    "PT715": "a decision is taken by rank 0's part of the data",
}
#: What repeats something as often as its arguments say.
COUNTING = frozenset({"builtins.range", "tqdm.trange"})
SLICING = frozenset({"itertools.islice"})
NUMBER_ADVICE = "take a number that is equal on all processes"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each condition, and each number, that must be agreed on."""
    decisions = Decisions(plan)
    yield from done(plan, decisions)
    for decision in decisions.collect():
        if within_wrap(plan, decisions.happens(decision)):
            continue
        ruling = answer(plan, decision, decisions)
        yield ruling
        if decision.cause is Cause.BATCH and is_of_rank_0(ruling):
            yield partial(decision.module, decision.test, decision.matter)
    yield from numbers(plan, decisions.divergence)
    yield from padded_rounds(plan, decisions.divergence)


def within_wrap(plan: Plan, events: list[Event]) -> bool:
    """Whether something happens in methods of a wrap of the script's own.

    Such a wrap is there to make the processes agree.
    """
    return any(
        call.function.owner is not None
        and not plan.table.wrappers.isdisjoint(call.function.owner.external_bases())
        for event in events
        for call in event.calls()
    )


def is_of_rank_0(ruling: Ruling | Remark) -> bool:
    """Whether an answer takes something from rank 0."""
    agreement = ruling.data if isinstance(ruling, Ruling) else None
    return isinstance(agreement, Agreement) and agreement.helper == "from_main_process"


def partial(module: Module, node: cst.CSTNode, matter: str) -> Remark:
    """The warning about something that rank 0 computes from its own part of the data."""
    return Remark.warn(
        "PT715",
        (module, node),
        f"{matter} is now decided by rank 0's part of the training data alone",
        "decide by a number that is taken over all processes",
    )


def done(plan: Plan, decisions: Decisions) -> Iterator[Answer]:
    """The conditions that are agreed on already."""
    for condition in decisions.conditions:
        if any(id(node) in decisions.divergence.agreeing for node in descendants(condition.test)):
            yield Ruling.done(
                "PT711",
                (condition.event.module, condition.test),
                "all processes take the same decision",
            )


def answer(plan: Plan, decision: Decision, decisions: Decisions) -> Ruling | Remark:
    """What is to be done about one decision."""
    why = f"{decision.matter} depends on {decision.cause.value}"
    helper: str | None = "from_main_process"
    node = decision.part
    events = decisions.happens(decision)
    if decision.cause is Cause.BATCH and any(plan.in_training(event.stack) for event in events):
        helper, node = flag_for(decision), decision.test
    if decision.cause is Cause.SIGNAL:
        helper = "any_rank"
    if helper is None:
        return Ruling.refuse(
            "PT712",
            (decision.module, decision.test),
            f"{why}: a process that decides differently leaves the others waiting",
            "decide by something that is equal on all processes, or leave the step in",
        )
    if events and all(event.order < decisions.joined for event in events):
        why = f"{why}, and is decided before the processes can agree"
        advice = "decide it in the function that trains"
        if decision.cause in ON_DISK:
            return Remark.warn("PT714", (decision.module, decision.test), why, advice)
        return Ruling.refuse("PT714", (decision.module, decision.test), why, advice)
    return Ruling.apply(
        "PT711",
        (decision.module, decision.test),
        why,
        data=Agreement(decision.module, node, helper),
    )


BAD = frozenset({"isnan", "isinf", "isneginf", "isposinf"})
GOOD = frozenset({"isfinite"})


def flag_for(decision: Decision) -> str | None:
    """The helper for a check for NaN, or for selected samples; None for other conditions."""
    condition = decision.condition
    asked = spelled_out(decision.module, decision.test)
    if condition is not None and chooses_selection(condition):
        return "any_rank" if asks_for_any(asked) else None
    bad = bad_when(asked)
    if condition is None or bad is None:
        return None
    skipping = {arm for arm, _, _ in condition.exits}
    guarded = {arm for arm, _ in condition.guarded}
    if skipping and guarded:
        return None
    if bad:
        return "any_rank" if skipping == {"then"} or guarded == {"else"} else None
    return "all_ranks" if skipping == {"else"} or guarded == {"then"} else None


def chooses_selection(condition: Condition) -> bool:
    """Whether all that depends on a condition is a loss, over some samples where it holds."""
    words = {(step.key[0], arm) for arm, step in condition.guarded}
    allowed = {("reduction", "then"), ("gradient", "then"), ("gradient", "else")}
    return not condition.exits and ("reduction", "then") in words and words <= allowed


def bad_when(node: cst.CSTNode) -> bool | None:
    """Whether a condition is true for NaN or infinite values; None where it is another check."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = bad_when(node.expression)
        return None if inner is None else not inner
    if isinstance(node, cst.BooleanOperation):
        left, right = bad_when(node.left), bad_when(node.right)
        if left is None or left != right or left is isinstance(node.operator, cst.And):
            return None
        return left
    if isinstance(node, cst.Call):
        return bad_call(node)
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        target = node.comparisons[0]
        if isinstance(target.operator, cst.NotEqual) and node.left.deep_equals(target.comparator):
            return True
    return None


def bad_call(node: cst.Call) -> bool | None:
    """The answer of :func:`bad_when` for a call."""
    word = last_word(node.func)
    if word in BAD:
        return True
    if word in GOOD:
        return False
    inner: bool | None = None
    if isinstance(node.func, cst.Attribute) and word in ("any", "all", "item"):
        inner = bad_when(node.func.value)
    if inner is None and word in ("any", "all", "bool") and len(node.args) == 1:
        inner = bad_when(node.args[0].value)
    # One bad element is enough, and all must be good.
    mixed = (word == "any" and inner is False) or (word == "all" and inner is True)
    return None if mixed else inner


def numbers(plan: Plan, divergence: Divergence) -> Iterator[Answer]:
    """The numbers that set learning rates, change gradients, or say how often something is done."""
    seen: set[int] = set()
    for event, node, matter in [*rates(plan), *rounds(plan)]:
        if id(node) in seen:
            continue
        cause = divergence.cause(event.module, node)
        if cause is not None or id(node) in divergence.agreeing:
            seen.add(id(node))
        if id(node) in divergence.agreeing:
            yield Ruling.done("PT713", (event.module, node), "all processes take the same number")
        elif cause is Cause.BATCH and plan.in_training(event.stack):
            yield Ruling.refuse(
                "PT712",
                (event.module, node),
                f"{matter} depends on {cause.value}",
                NUMBER_ADVICE,
            )
        elif cause not in (None, Cause.PRESENCE, Cause.NORM):
            assert cause is not None
            yield Ruling.apply(
                "PT713",
                (event.module, node),
                f"{matter} depends on {cause.value}",
                data=Agreement(event.module, node, "from_main_process"),
            )
            if cause is Cause.BATCH:
                yield partial(event.module, node, matter)
    for event, node, matter in [*rates(plan), *loaded(plan), *amounts(plan)]:
        why = of_a_share(plan, divergence, event, node) if id(node) not in seen else ""
        if why:
            seen.add(id(node))
            yield Ruling.refuse("PT712", (event.module, node), f"{matter} {why}", NUMBER_ADVICE)
    for module, node, matter in called_back(plan, divergence.reductions):
        if id(node) not in seen:
            seen.add(id(node))
            why = f"{matter} depends on {Cause.BATCH.value}"
            yield Ruling.refuse("PT712", (module, node), why, NUMBER_ADVICE)


def of_a_share(plan: Plan, divergence: Divergence, event: Event, node: cst.BaseExpression) -> str:
    """Why a number that changes a model is not that of the whole batch; empty where it is."""
    if divergence.cause(event.module, node) is Cause.BATCH:
        return f"depends on {Cause.BATCH.value}"
    shares = plan.way == "data" and plan.options.batch_size == "global"
    if shares and counts_samples(divergence, node):
        return "follows the number of samples that this process has of the batch"
    if shares and is_kept_in_place(plan, node):
        return f"depends on {Cause.BATCH.value}"
    return ""


def is_kept_in_place(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether a number is made of a tensor into which something of the batch is written."""
    quantities = analysis(plan)
    return any(
        id(value) in quantities.stored and quantities.of((value,)).kind is Kind.PART
        for value in walk_back(plan.facts.values_of(node))
    )


Number = tuple[Event, cst.BaseExpression, str]


def rates(plan: Plan) -> Iterator[Number]:
    """The numbers that schedulers are given, and those that learning rates are set to."""
    for step in steps_of(plan):
        if step.key[0] in ("schedule", "rate"):
            for node in sources(step.event):
                yield step.event, node, "the learning rate"


def loaded(plan: Plan) -> Iterator[Number]:
    """What models, optimizers and schedulers are given as their state."""
    for step in steps_of(plan):
        if step.key[0] == "load":
            for node in sources(step.event):
                yield step.event, node, "what is loaded"


def rounds(plan: Plan) -> Iterator[Number]:
    """The numbers of rounds of loops with steps."""
    busy = {
        id(frame.node)
        for step in steps_of(plan)
        if step.counts
        for frame in step.event.stack
        if isinstance(frame, Loop)
    }
    for event in plan.facts.iterations:
        if id(event.node) in busy and isinstance(event.node, cst.For):
            for node in counts(plan, event.node.iter):
                yield event, node, "how often a step is done"


def padded_rounds(plan: Plan, divergence: Divergence) -> Iterator[Remark]:
    """The warnings about loops with steps over batches that each process pads for itself."""
    uneven = uneven_rounds(plan).loops
    seen: set[int] = set()
    for step in steps_of(plan):
        for frame in step.event.loops():
            node = frame.node
            if not step.counts or id(node) not in uneven or id(node) in seen:
                continue
            seen.add(id(node))
            assert isinstance(node, (cst.For, cst.CompFor))
            if any(divergence.cause(frame.module, n) for n in counts(plan, node.iter)):
                continue
            yield Remark.warn(
                "PT712",
                (frame.module, node.iter),
                f"how often a {step.word} is done follows the longest sample of one process's "
                "share, unless the rounds are those of samples: a process with fewer rounds leaves "
                "the others waiting",
                "pad all batches to one length, or take the step once for each batch",
            )


def counts(plan: Plan, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The numbers that say how long an iterable is."""
    if not isinstance(node, cst.Call):
        return
    names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
    for position, arg in enumerate(node.args):
        if names & COUNTING or (names & SLICING and position):
            yield arg.value
        else:
            yield from counts(plan, arg.value)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within the helper."""
    data: Agreement = ruling.data
    yield Helper(data.helper, data.module)
    name = plan.names_in(data.module).fresh(data.helper)
    # What is reduced is agreed on once it is.
    for edit in wrap_expression(data.module.source, data.node, f"{name}(", ")", order=-5):
        yield In(data.module, edit)
