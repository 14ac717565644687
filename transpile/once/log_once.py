"""Log once per job; warnings and errors of all processes stay.

What:
    Right after the process group is joined, logging up to the level of information is switched
    off in every process but the one with rank 0. Where something is logged earlier, it is
    switched off before that.

Why:
    With N processes every message would come out N times. A warning or an error of one process
    must not be lost.

Before:
    logging.info("training on %s", device)

After:
    if not is_main_process():
        logging.disable(logging.INFO)
    logging.info("training on %s", device)

Refuses when:
    never: a warning names handlers and filters of the script's own that keep something of what
    they see, as a list of losses.

Source:
    https://docs.python.org/3/library/logging.html#logging.disable
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Function
from transpile.facts.walk import descendants
from transpile.layout import insert_after, insert_before
from transpile.once.shared import main_process, once_of
from transpile.plan.effects.effects import Kind
from transpile.plan.effects.treatment import Once
from transpile.plan.flow.entering import SetUp, set_up_of
from transpile.plan.flow.places import statement_in
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.quantity.contents import GROWING
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "541": "logs once per job, but for warnings and errors",
    "542": "a handler of logging keeps something of what it sees",
}

#: Methods that run where nothing is logged any more.
ENDING = frozenset({"close", "flush"})
QUIET = frozenset({"debug", "info", "log"})


@dataclass(frozen=True, eq=False)
class Place:
    """Where logging is switched off: before a statement, or behind the set-up."""

    before: cst.CSTNode | None
    set_up: SetUp | None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for all messages of the script."""
    once = once_of(plan)
    logs = [effect for effect in once.effects.values() if effect.kind is Kind.LOG]
    quiet = [effect for effect in logs if says_little(effect.word)]
    claims = tuple(effect.node for effect in logs)
    if not quiet:
        return
    event = quiet[0].event
    node: Any = event.node if event.module.is_entry else None
    if switched_off(plan, once) or all(id(effect.node) in once.done for effect in quiet):
        yield Ruling.done(
            f"{plan.table.prefix}541",
            (plan.entry, node or plan.entry.source.tree),
            "logging is switched off on all ranks but one",
            claims=claims,
        )
        return
    for function in keeping(plan):
        assert function.owner is not None
        yield Remark.warn(
            f"{plan.table.prefix}542",
            (function.module, function.node),
            f"'{function.owner.name}' keeps something of what is logged, and sees messages on the "
            "process with rank 0 alone",
            "keep it where the message is made, not where it is handled",
        )
    place = place_for(plan, [event for effect in quiet for event in effect.events])
    if place is None:
        return
    yield Ruling.apply(
        f"{plan.table.prefix}541",
        (plan.entry, node or plan.entry.source.tree),
        "messages below a warning come out once per job",
        data=place,
        claims=claims,
    )


def keeping(plan: Plan) -> Iterator[Function]:
    """The methods of handlers and filters of the script's own that change what outlives a call."""
    for function in plan.facts.functions.values():
        owner = function.owner
        if owner is None or function.name == "__init__" or function.name in ENDING:
            continue
        if any(base.startswith("logging.") for base in owner.external_bases()):
            if any(map(changes_object, descendants(function.node))):
                yield function


def changes_object(node: cst.CSTNode) -> bool:
    """Whether a node writes to an attribute or an item, or lets a container grow."""
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign):
        return isinstance(node.target, cst.Attribute | cst.Subscript)
    called = node.func if isinstance(node, cst.Call) else None
    return (
        isinstance(called, cst.Attribute)
        and called.attr.value in GROWING
        and isinstance(called.value, cst.Attribute)
    )


def says_little(word: str) -> bool:
    """Whether a logging call is below the level of a warning."""
    return word.removesuffix("()").rpartition(".")[2] in QUIET


def switched_off(plan: Plan, once: Once) -> bool:
    """Whether some ranks switch logging off."""
    return any(
        event.kind == "call"
        and External("logging.disable") in event.callee
        and once.ranks.some_ranks(event)
        for event in plan.facts.events
    )


def place_for(plan: Plan, events: list[Event]) -> Place | None:
    """Behind the set-up; before the first message where that comes earlier."""
    set_up = set_up_of(plan)
    early = [
        event for event in events if not event.detached and (set_up is None or set_up.after(event))
    ]
    if not early:
        # Without a set-up to stand behind there is nothing to be quiet about.
        return Place(None, set_up) if set_up is not None else None
    statement = first_statement(plan, early[0])
    return Place(statement, None) if statement is not None else None


def first_statement(plan: Plan, event: Event) -> cst.CSTNode | None:
    """The statement of the script's own code from which an event is reached."""
    tree = plan.entry.source.tree
    sites = [frame.node for frame in event.stack if getattr(frame, "function", None) is not None]
    site = next((node for node in sites if node is not None), event.node)
    if not sites and not event.module.is_entry:
        return None
    statement = statement_in(plan.entry, tree, site)
    if isinstance(statement, cst.If) and is_main_guard(statement):
        return statement_in(plan.entry, statement.body, site) or statement
    return statement


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The statement that switches logging off."""
    place: Place = ruling.data
    yield Helper("is_main_process", plan.entry)
    logging = plan.names_in(plan.entry).imported("logging", "logging")
    lines = [f"if not {main_process(plan, plan.entry)}:", f"    {logging}.disable({logging}.INFO)"]
    source = plan.entry.source
    if place.before is not None:
        changes = insert_before(source, place.before, lines, order=-8)  # type: ignore[arg-type]
    elif place.set_up is not None and place.set_up.behind is not None:
        changes = insert_after(source, place.set_up.behind, lines, order=-8)
    else:
        assert place.set_up is not None and place.set_up.before is not None
        changes = insert_before(source, place.set_up.before, lines, order=-8)
    for edit in changes:
        yield In(plan.entry, edit)
