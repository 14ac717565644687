"""Keep the records of an experiment once per job.

What:
    A tracker that is only written to (a ``$tracker``) is made by the process with rank 0
    alone, and what it records goes under a test for rank 0. Trackers with a switch of their own
    (W&B, Neptune, Comet) are switched off in the other processes, where their calls do nothing.

Why:
    With N processes there would be N runs, or N files of the same records.

Before:
    writer = $tracker("runs")

After:
    writer = $tracker("runs") if is_main_process() else None

Refuses when:
    never: a tracker that is used where no guard fits is made everywhere, and reported.

Source:
    $tracker_source
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.facts.walk import descendants
from transpile.layout import add_argument
from transpile.once.shared import argument_of, main_process, once_of, only_here, surround
from transpile.plan.effects.effect_names import SWITCHED_TRACKERS
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import Once
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "551": "a tracker records once per job",
    "552": "a tracker records in every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each tracker."""
    once = once_of(plan)
    for effect, how in once.finished(Kind.TRACKER, Kind.SWITCHED_TRACKER):
        yield answer(plan, effect, Verdict.ALREADY_DONE, f"the tracker records {how}")
    for effect in once.pending(Kind.TRACKER):
        why = obstacle(plan, once, effect)
        if why:
            yield everywhere(plan, effect, why)
        else:
            yield answer(plan, effect, Verdict.APPLY, "the tracker is made on one rank alone")
    for effect in once.pending(Kind.SWITCHED_TRACKER):
        if is_switched(once, effect):
            yield answer(
                plan, effect, Verdict.ALREADY_DONE, "the tracker records on one rank alone"
            )
        elif effect.event.arguments.unknown_because:
            yield everywhere(plan, effect, "its arguments are not known")
        else:
            yield answer(
                plan, effect, Verdict.APPLY, "the tracker is switched off on all ranks but one"
            )
    for effect in once.managers:
        yield answer(plan, effect, Verdict.APPLY, "the tracker records on one rank alone")


def answer(plan: Plan, effect: Effect, verdict: Verdict, reason: str) -> Ruling:
    """The ruling about one tracker."""
    return Ruling(
        f"{plan.table.prefix}551",
        verdict,
        effect.module,
        effect.node,
        reason,
        data=effect,
        claims=(effect.node,),
    )


def everywhere(plan: Plan, effect: Effect, why: str) -> Remark:
    """The warning about a tracker that stays as it is."""
    return Remark.warn(
        f"{plan.table.prefix}552",
        effect,
        f"{effect.word} records in every process: {why}",
        "make it on rank 0 alone, and use it there alone",
    )


def is_switched(once: Once, effect: Effect) -> bool:
    """Whether a tracker is switched off on all ranks but one."""
    keyword, _, _ = SWITCHED_TRACKERS[effect.word]
    written = argument_of(effect, (keyword,), 99)
    if written is None:
        return False
    if isinstance(written.value, cst.IfExp) and once.ranks.tests_rank(written.value.test):
        return True
    return once.ranks.is_rank(once.plan.facts.values_of(written.value))


def obstacle(plan: Plan, once: Once, effect: Effect) -> str:
    """Why a tracker cannot be absent from the other processes; empty where it can."""
    parent = effect.module.source.parent(effect.node)
    if not isinstance(
        parent,
        (cst.Assign, cst.AnnAssign, cst.Arg, cst.Return, cst.IfExp, cst.WithItem, cst.DictElement),
    ):
        return "it is not simply bound to a name"
    for use in uses(plan, effect):
        if id(use) in once.inside or id(use) in once.done:
            continue
        return "it is used where no guard fits"
    if decides_for_all(plan, effect):
        return "a test on it decides about something that all processes do together"
    return ""


def decides_for_all(plan: Plan, effect: Effect) -> bool:
    """Whether models are called, or data is drawn, only where the tracker is there."""
    made = {id(value) for event in effect.events for value in event.result}
    shared = [event for model in plan.models for event in model.forwards]
    shared += [event for loader in plan.loaders for event in loader.iterations]
    asked: dict[int, bool] = {}
    for event in shared:
        for module, node in places(plan, event):
            for around in ancestors(module, node):
                test = getattr(around, "test", None)
                if isinstance(test, cst.BaseExpression) and id(test) not in asked:
                    asked[id(test)] = any(
                        belongs(value, made)
                        for part in (test, *descendants(test))
                        if isinstance(part, (cst.Name, cst.Attribute))
                        for value in plan.facts.values_of(part)
                    )
                if test is not None and asked.get(id(test)):
                    return True
    return False


def places(plan: Plan, event: Event) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where an event stands, and the calls through which it is reached."""
    module = plan.entry
    for frame in event.stack:
        if isinstance(frame, Call):
            if frame.node is not None:
                yield module, frame.node
            module = frame.module
    yield event.module, event.node


def uses(plan: Plan, effect: Effect) -> Iterator[cst.CSTNode]:
    """The calls and the look-ups of attributes that need the tracker to be there."""
    made = {id(value) for event in effect.events for value in event.result}
    called: set[int] = set()
    for event in plan.facts.calls:
        if not isinstance(event.node, cst.Call):
            continue
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if any(belongs(value, made) for value in callee.operands[0]):
                    called.add(id(event.node.func))
                    yield event.node
        if any(isinstance(callee, (External, Opaque)) for callee in event.callee) and any(
            id(value) in made for argument in event.arguments.items for value in argument.values
        ):
            yield event.node
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Attribute):
            if id(node) not in called:
                if any(belongs(value, made) for value in plan.facts.values_of(node.value)):
                    yield node


def belongs(value: Value, made: set[int]) -> bool:
    """Whether a value is one of the objects."""
    return id(value) in made


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """No tracker on the other processes, or one that is switched off."""
    effect: Effect = ruling.data
    if effect.kind in (Kind.TRACKER, Kind.TRACK):
        other = "None"
        if isinstance(effect.module.source.parent(effect.node), cst.WithItem):
            other = (
                f"{plan.names_in(effect.module).imported('contextlib.ExitStack', 'ExitStack')}()"
            )
        yield from only_here(plan, effect.module, effect.node, other)
        return
    yield Helper("is_main_process", effect.module)
    keyword, off, on = SWITCHED_TRACKERS[effect.word]
    written = argument_of(effect, (keyword,), 99)
    test = main_process(plan, effect.module)
    if written is None:
        text = f"{on} if {test} else {off}" if keyword != "disabled" else f"not {test}"
        for edit in add_argument(effect.module.source, effect.node, f"{keyword}={text}"):
            yield In(effect.module, edit)
    elif keyword == "disabled":
        values = plan.facts.values_of(written.value)
        known = all(isinstance(value, Constant) for value in values)
        before, after = ("", "") if known else ("(", ")")
        for edit in surround(effect.module, written.value, before, f"{after} or not {test}"):
            yield In(effect.module, edit)
    else:
        yield from only_here(plan, effect.module, written.value, off)
