"""Drop out other places in the samples of each process.

What:
    After ``compile``, which makes the parameters, each process seeds its GPU by its rank.

Why:
    Devices that are seeded alike drop out the same places in the samples of all processes, unlike
    in those of one process.

Before:
    model.compile([tx], is_train=True, use_graph=True)

After:
    model.compile([tx], is_train=True, use_graph=True)
    vary_dropout()

Refuses when:
    never: a warning says where the script seeds or draws on the device behind that, or where no
    ``compile`` says when all parameters are there.

Source:
    https://singa.apache.org/docs/device/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.finding import Level
from transpile.layout import insert_after
from transpile.plan.flow.places import insertion_place
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.singa._roles import compiles, methods_of, names_of
from transpile.rules.singa._vocabulary import DROPOUTS
from transpile.rules.singa.data._seeds import draws_on
from transpile.rules.singa.gradients.share_optimizer import is_shared
from transpile.rules.singa.models.share_parameters import owner_statement
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG233": "what is dropped out is the same for the samples of all processes",
    "SG234": "each process drops out by random numbers of its own",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for all that drops out."""
    dropout = next(
        (e for e in plan.facts.reached_calls if DROPOUTS.intersection(names_of(e))), None
    )
    if dropout is None:
        return
    made = {id(event.node): event for event in compiles(plan)}
    compiled = next(iter(made.values()), None)
    if len(made) == 1 and compiled is not None and own_path(plan) is None:
        if is_shared(plan) or is_last(plan, compiled):
            yield Ruling.apply(
                "SG234",
                compiled,
                "each process drops out by random numbers of its own",
                done=is_shared(plan),
            )
            return
    yield Remark(
        "SG233",
        Level.WARNING if own_path(plan) is None else Level.NOTE,
        dropout.module,
        dropout.node,
        "devices are seeded alike, so that the same places are dropped out in the samples of all "
        "processes, unlike in those of one process",
        "seed the device by the rank once the parameters are there",
    )


def is_last(plan: Plan, compiled: Event) -> bool:
    """Whether nothing is seeded or drawn on a device behind the call that makes the parameters."""
    later = [event for event in plan.facts.reached_calls if event.order > compiled.order]
    seeds = any(name == "SetRandSeed" for event in later for name, _ in methods_of(event))
    around = list(compiled.loops())
    return not (seeds or around or any(draws_on(event) for event in later)) and (
        owner_statement(compiled) is not None
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call behind ``compile``, and behind what shares the parameters."""
    statement = insertion_place(ruling.module, ruling.node)
    assert statement is not None
    yield Helper("vary_dropout", ruling.module)
    line = f"{plan.names_in(ruling.module).fresh('vary_dropout')}()"
    for edit in insert_after(ruling.module.source, statement, [line], order=5):
        yield In(ruling.module, edit)
