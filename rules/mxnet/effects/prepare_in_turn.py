"""Download and prepare one worker after the other.

What:
    A statement that downloads data or weights, unpacks an archive, or makes a file where it is
    missing goes into a block that the workers enter one after the other, rank 0 first.

Why:
    Workers that download into one folder at the same time find each other's half-written files.
    On a shared file system the others find what rank 0 has fetched, on a local one they fetch it.

Before:
    train_set = gluon.data.vision.MNIST("data", train=True)

After:
    with main_process_first():
        train_set = gluon.data.vision.MNIST("data", train=True)

Refuses when:
    never: what cannot go into such a block is reported.

Source:
    https://github.com/pytorch/pytorch/issues/68320
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import guard, insert_before
from transpile.plan.effects.effects import Kind
from transpile.plan.effects.treatment import Preparation
from transpile.plan.flow.places import statement_of
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import receivers_of
from transpile.rules.mxnet.data._loaders import GLUON, is_simple
from transpile.rules.mxnet.effects._once import once_of
from transpile.text.changes import Insert

CODES = {
    "MX561": "downloads and preparation are done by one worker after the other",
    "MX562": "something is downloaded or prepared by all workers at the same time",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each group of statements that prepare something."""
    once = once_of(plan)
    for effect in once.effects.values():
        if effect.kind is Kind.DOWNLOAD and in_turn(plan, effect.node):
            yield Ruling.done(
                "MX561", effect, f"{effect.word}: one worker after the other", claims=(effect.node,)
            )
    for preparation in once.preparations:
        effect = preparation.effects[0]
        if in_turn(plan, effect.node):
            continue
        if preparation.why_not:
            yield Remark.warn(
                "MX562",
                effect,
                f"{effect.word} {effect.kind.value} in all workers at the same time: "
                f"{preparation.why_not}",
                "run it once beforehand",
            )
            continue
        words = sorted({each.word for each in preparation.effects})
        yield Ruling.apply(
            "MX561",
            (preparation.module, preparation.statements[0]),
            f"one worker after the other does it: {', '.join(words)}",
            data=preparation,
            claims=tuple(effect.node for effect in preparation.effects),
        )


def in_turn(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether every run of a call is inside a ``with`` that waits for the other workers."""
    events = [event for event in plan.facts.events if event.node is node]
    return bool(events) and all(
        any(waits(plan, manager) for frame in event.stack for manager in managers(frame))
        for event in events
    )


def managers(frame: object) -> tuple[object, ...]:
    """The managers of a ``with`` block."""
    found: tuple[object, ...] = getattr(frame, "managers", ())
    return found


def waits(plan: Plan, manager: object) -> bool:
    """Whether a generator of the project waits for the other workers."""
    function = getattr(manager, "function", None)
    return function is not None and any(
        event.kind == "call"
        and bool(receivers_of(event, "_barrier"))
        and any(frame.function is function for frame in event.calls())
        for event in plan.facts.events
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The block in which the workers take turns."""
    preparation: Preparation = ruling.data
    module, source = preparation.module, preparation.module.source
    yield Helper("main_process_first", module)
    header = f"with {plan.names_in(module).fresh('main_process_first')}():"
    moved = moved_above(preparation, rulings)
    statement = statement_of(module, moved) if moved is not None else None
    if statement is not None:
        above = insert_before(source, statement, ["pass"])[0]
        assert isinstance(above, Insert)
        indentation = source.indentation_of(source.span(statement).start)
        text = f"{indentation}{header}{source.newline}{source.indent}"
        yield In(module, Insert(above.offset, text, order=-1))
        return
    for edit in guard(source, preparation.statements[0], preparation.statements[-1], header):
        yield In(module, edit)


def moved_above(preparation: Preparation, rulings: Rulings) -> cst.BaseExpression | None:
    """The data set that is bound to a name above the statement, where that holds all downloads."""
    source = preparation.module.source
    for ruling in rulings.of("shard-data", Verdict.APPLY):
        site = ruling.data.site
        dataset = site.loader.argument("dataset") if site.kind == GLUON else None
        node = dataset.node if dataset is not None else None
        if not isinstance(node, cst.BaseExpression) or is_simple(node):
            continue
        if all(place is node or node in source.parents(place) for place in preparation.sites):
            return node
    return None
