"""Draw the data that is made by chance between epochs once for all processes.

What:
    Data sets that the script fills with random numbers where the processes have random numbers of
    their own, as recommenders draw new negative samples for every epoch, are filled by all
    processes from the random state of rank 0. Afterwards each goes on with its own. So are drawn
    the settings of a training that follows another, such as a learning rate.

Why:
    Every process takes its share of the samples of one data set. With data of its own each of them
    takes a share of another, and numbers of samples may differ, too.

Before:
    samples = draw_negatives(pairs)

After:
    with shared_randomness():
        samples = draw_negatives(pairs)

Refuses when:
    nothing around the draw happens apart from the training, or only some processes may come there.

Source:
    https://arxiv.org/abs/1708.05031, section 4.1 (new negatives in every epoch),
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.layout import guard, insert_before
from transpile.layout.lines import is_first
from transpile.plan.data.sources import is_simple
from transpile.plan.flow.places import Statement, insertion_place, statement_of
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.agreement.agree_on_splits import places_cut_out, splitting
from transpile.rules.pytorch.data._data import Data, within_agreement
from transpile.rules.pytorch.randomness._drawn_data import Drawn, drawn_data
from transpile.text.changes import Insert

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT738": "randomly drawn data is broadcast from rank 0"}
SAME = "all processes draw the same here"
WHY = "each process would {} with random numbers of its own"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each statement that fills data by chance."""
    if all(backward.event.detached for backward in plan.backwards):
        return
    data = Data(plan)
    cut_out = places_cut_out(plan)
    together: dict[int, list[Drawn]] = {}
    for drawn in drawn_data(plan):
        if drawn.repeated or splitting(drawn.event, data, cut_out) is None:
            together.setdefault(id(drawn.statement or drawn.event.node), []).append(drawn)
    for group in together.values():
        drawn = group[0]
        event = drawn.event
        if within_agreement(plan, event):
            yield Ruling.done("PT738", event, SAME)
        elif drawn.statement is None:
            yield refusal(event, drawn)
        else:
            why = WHY.format(drawn.what)
            yield Ruling.apply("PT738", (drawn.module, drawn.statement), why, data=group)


def refusal(event: Event, drawn: Drawn) -> Ruling:
    """Why the processes cannot draw together here."""
    return Ruling.refuse(
        "PT738",
        event,
        f"{WHY.format(drawn.what)}, so that they train on shares of different data sets, or in "
        f"different ways{drawn.because}",
        "draw the data in a statement of its own outside of the loop over the batches, or give "
        "the numbers a generator with a fixed seed",
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The statement within a block that every process enters with the same random state."""
    group: list[Drawn] = ruling.data
    module, statement = group[0].module, group[0].statement
    assert statement is not None
    source = module.source
    helper = "shared_randomness"
    yield Helper(helper, module)
    header = f"with {plan.names_in(module).fresh(helper)}():"
    moved = moved_above(module, statement, rulings)
    inside = {id(part) for node in moved for part in descendants(node)}
    if moved:
        above = insert_before(source, statement, [header])[0]
        assert isinstance(above, Insert)
        yield In(module, Insert(above.offset, f"{above.text}{source.indent}", order=-1))
    if any(id(drawn.node) not in inside for drawn in group):
        for edit in guard(source, statement, statement, header, order=20):
            yield In(module, edit)


def moved_above(module: Module, statement: Statement, rulings: Rulings) -> list[cst.BaseExpression]:
    """The data sets that are bound to names above a statement."""
    return [
        ruling.data.dataset
        for ruling in rulings.of("shard-training-data", Verdict.APPLY)
        if ruling.data.site.module is module
        and not is_simple(ruling.data.dataset)
        and statement_of(module, ruling.data.dataset) is statement
        and is_in_front(module, ruling.data.dataset)
    ]


def is_in_front(module: Module, node: cst.CSTNode) -> bool:
    """Whether what a node needs is put in front of its whole line."""
    place = insertion_place(module, node)
    return place is None or is_first(module.source, place)
