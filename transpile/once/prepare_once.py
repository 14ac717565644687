"""Download and prepare before the other processes look.

What:
    A statement that downloads data or weights, unpacks an archive, or makes a file where it is
    missing goes into a block in which the processes take turns: rank 0 first, then the first
    process of every other node (which finds the outcome on a shared file system, and fetches it
    on a local one), then the rest, and nobody goes on before all have been there. The test for the
    file belongs to the block, be it around the statement or an early exit before it, and so does
    the attempt to read the file.

Why:
    Processes that download into one folder at the same time find each other's half-written files.
    One that comes late must not take such a file for a whole one, nor write anew what others read.

Before:
    $preparing

After:
    with main_process_first():
        $preparing

Refuses when:
    never: what happens before the processes know of each other, or where only some of them come,
    is reported.

Source:
    $preparing_source
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import guard
from transpile.layout.moves import header_above
from transpile.once.shared import agreed_on, once_of, parts
from transpile.plan.effects.effects import Kind
from transpile.plan.effects.treatment import Preparation
from transpile.plan.flow.places import insertion_place
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings

#: What the findings say, by their numbers.
CODES = {
    "561": "downloads and preparation are done by one process first",
    "562": "something is downloaded or prepared by all processes at the same time",
    "563": "preparation draws random numbers in some processes only",
}

MODULE = "put it behind the place where the process group is joined, or run it once beforehand"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each group of statements that prepare something."""
    once = once_of(plan)
    for effect in once.effects.values():
        if effect.kind is Kind.DOWNLOAD and (
            id(effect.node) in once.done
            or all(once.ranks.in_turn(event.stack) for event in effect.events)
        ):
            yield Ruling.done(
                f"{plan.table.prefix}561",
                effect,
                f"{effect.word}: one process does it first",
                claims=(effect.node,),
            )
    for preparation in once.preparations:
        effect = preparation.effects[0]
        if preparation.why_not:
            yield Remark.warn(
                f"{plan.table.prefix}562",
                effect,
                f"{effect.word} {effect.kind.value} in all processes at the same time: "
                f"{preparation.why_not}",
                MODULE,
            )
            continue
        words = sorted({each.word for each in preparation.effects})
        yield Ruling.apply(
            f"{plan.table.prefix}561",
            (preparation.module, preparation.statements[0]),
            f"one process does it first: {', '.join(words)}",
            data=preparation,
            claims=tuple(effect.node for effect in preparation.effects),
        )
        if preparation.forced is not None:
            yield Remark.warn(
                f"{plan.table.prefix}562",
                (preparation.module, preparation.forced),
                f"where '{preparation.module.source.code(preparation.forced)}' asks for it, files "
                "are recreated by every process, and those of one machine may do so at the same "
                "time",
                "make them beforehand, in a run of one process",
            )
        if preparation.draws:
            yield Remark.warn(
                f"{plan.table.prefix}563",
                (preparation.module, preparation.statements[0]),
                "random numbers are drawn where a file is made, and only by the processes that "
                "make it: afterwards the processes draw different ones",
                "seed again behind it, or draw from a generator of its own",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The block in which the processes take turns."""
    preparation: Preparation = ruling.data
    source = preparation.module.source
    yield Helper("main_process_first", preparation.module)
    header = f"with {plan.names_in(preparation.module).fresh('main_process_first')}():"
    moved = moved_above(preparation, rulings)
    if moved is not None:
        statement = insertion_place(preparation.module, moved)
        assert statement is not None
        for edit in header_above(source, statement, header):
            yield In(preparation.module, edit)
        return
    for part in parts(preparation, preparation.statements, agreed_on(rulings)):
        for edit in guard(source, part[0], part[-1], header):
            yield In(preparation.module, edit)


def moved_above(preparation: Preparation, rulings: Rulings) -> cst.BaseExpression | None:
    """The data set that is bound to a name above the statement, where that holds all downloads."""
    if len(preparation.statements) != 1:
        return None
    source = preparation.module.source
    sharded = [
        ruling
        for rule in ("shard-training-data", "shard-data")
        for ruling in rulings.of(rule, Verdict.APPLY)
    ]
    for ruling in sharded:
        data_set: cst.BaseExpression | None = ruling.data.dataset
        if data_set is None or isinstance(data_set, (cst.Name, cst.Attribute)):
            continue
        if all(site is data_set or data_set in source.parents(site) for site in preparation.sites):
            return data_set
    return None
