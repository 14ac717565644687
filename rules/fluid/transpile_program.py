"""Transpile the program for this process's role, once, before it is initialised.

What:
    Calls a helper between ``minimize()`` and the run of the startup program. For a parameter server
    it runs the server's programs and never returns; for a trainer it takes the updates out of the
    program and puts the exchange with the servers in (with ``--mode nccl2``, the exchange between
    the trainers). Without a launcher it does nothing.

Why:
    ``DistributeTranspiler`` needs the backward pass and the updates, so ``minimize()`` comes first;
    what initialises, compiles or runs the program must see it transpiled.

Before:
    sgd.minimize(avg_loss)
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())

After:
    sgd.minimize(avg_loss)
    exe = fluid.Executor(place)
    transpile_program()
    exe.run(fluid.default_startup_program())

Refuses when:
    several losses are minimised; the program or where it is initialised cannot be told; the script
    uses eager mode, Paddle before Fluid, or the Trainer that came before executors; a variable is
    initialised from an array and shall be cut into slices.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/DistributeTranspiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.finding import Level
from transpile.layout import insert_after, insert_before
from transpile.layout.calls import written_call
from transpile.plan.model import Plan
from transpile.plan.places import statement_of
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._place import NoPlace, Place, place_of
from transpile.rules.fluid._refusals import mode_of, refusals, refuse
from transpile.rules.fluid._roles import (
    roles_of,
)

CODES = {
    "FL101": "the program is transpiled here",
    "FL102": "the program cannot be transpiled",
    "FL103": "this is trained by something that no transpiler knows, or unseen",
    "FL104": "slices of a variable cannot be initialised from an array",
    "FL105": "asynchronous updates",
    "FL106": "this needs a newer Paddle, which has no Fluid",
    "FL107": "a choice that Fluid conversions cannot follow",
    "FL108": "servers cannot make these updates",
    "FL109": "the learning rate is given to trainers, and servers hold it",
    "FL110": "this optimizer needs whole variables",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer: where to transpile, or why not."""
    roles = roles_of(plan)
    if roles.transpiles:
        event = roles.transpiles[0]
        yield Ruling(
            "FL101",
            Verdict.ALREADY_DONE,
            event.module,
            event.node,
            "the script transpiles its program itself",
            claims=tuple(claimed(plan)),
        )
        return
    refusal = next(refusals(plan), None)
    if refusal is not None:
        yield refusal
        return
    place = place_of(plan)
    if isinstance(place, NoPlace):
        yield refuse(plan, "FL102", place.event, place.why, place.advice)
        return
    yield Ruling(
        "FL101",
        Verdict.APPLY,
        plan.entry,
        place.statement,
        f"the program is transpiled here ({mode_of(plan)})",
        data=place,
        claims=tuple(claimed(plan)),
    )
    if plan.options.evaluation == "shard":
        yield Remark(
            "FL107",
            Level.WARNING,
            plan.entry,
            place.event.node,
            "--eval shard is not known for Fluid: every trainer evaluates everything",
            "leave --eval out",
        )
    if plan.options.async_mode:
        yield Remark(
            "FL105",
            Level.WARNING,
            plan.entry,
            place.event.node,
            "every trainer updates the parameters on its own, so that results differ from those of "
            "one process and from run to run",
            "compare the accuracy with that of a synchronous run",
        )


def claimed(plan: Plan) -> Iterator[cst.CSTNode]:
    """What becomes distributed with the program."""
    roles = roles_of(plan)
    yield from (minimize.event.node for minimize in roles.minimizes)
    yield from (run.event.node for run in roles.training)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the helper, and for asynchronous updates that of the communicator."""
    place: Place = ruling.data
    source = plan.entry.source
    arguments = []
    if place.program_text:
        arguments.append(f"program={place.program_text}")
    if place.startup_text:
        arguments.append(f"startup_program={place.startup_text}")
    yield Helper("transpile_program", plan.entry)
    indentation = len(source.indentation_of(source.span(place.statement).start))
    lines = written_call(
        plan.names_in(plan.entry).fresh("transpile_program"), arguments, indentation
    )
    for edit in insert_before(source, place.statement, lines, order=-5):
        yield In(plan.entry, edit)
    if plan.options.async_mode:
        yield Helper("start_communicator", plan.entry)
        statement = statement_of(plan.entry, place.startup.event.node)
        assert statement is not None
        name = plan.names_in(plan.entry).fresh("start_communicator")
        for edit in insert_after(source, statement, written_call(name, arguments[:1], indentation)):
            yield In(plan.entry, edit)
