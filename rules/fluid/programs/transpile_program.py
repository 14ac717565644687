"""Transpile the program for this process's role, once, before it is initialised.

What:
    Calls a helper between ``minimize()`` and the run of the startup program. For a parameter server
    it runs the server's programs and never returns; for a trainer it takes the updates out of the
    program and puts the exchange with the servers in (with ``--mode nccl2``, the exchange between
    the trainers). Without a launcher it does nothing. Servers begin with the values that one
    process begins with; where the script loads weights, they load them, too, and serve then.

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

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque
from transpile.layout import insert_after, insert_before
from transpile.layout.calls import written_call
from transpile.plan.flow.places import statement_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.programs._noise import draws_seeded_noise
from transpile.rules.fluid.programs._place import NoPlace, Place, place_of
from transpile.rules.fluid.programs._refusals import mode_of, refusals, refuse
from transpile.rules.fluid.programs._serving import serving_after

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
        yield Ruling.done(
            "FL101", event, "the script transpiles its program itself", claims=tuple(claimed(plan))
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
    yield Ruling.apply(
        "FL101",
        (plan.entry, place.statement),
        f"the program is transpiled here ({mode_of(plan)})",
        data=place,
        claims=tuple(claimed(plan)),
    )
    if plan.options.evaluation == "shard":
        yield Remark.warn(
            "FL107",
            (plan.entry, place.event.node),
            "--eval shard is not known for Fluid: every trainer evaluates everything",
            "leave --eval out",
        )
    if plan.options.async_mode:
        yield Remark.warn(
            "FL105",
            (plan.entry, place.event.node),
            "every trainer updates the parameters on its own, so that results differ from those of "
            "one process and from run to run",
            "compare the accuracy with that of a synchronous run",
        )


def claimed(plan: Plan) -> Iterator[cst.CSTNode]:
    """What becomes distributed with the program."""
    roles = roles_of(plan)
    yield from (minimize.event.node for minimize in roles.minimizes)
    yield from (run.event.node for run in roles.training)


def clips_in_optimizer(place: Place) -> bool:
    """Whether the optimizer itself clips gradients, as it can from Fluid 1.8 on."""
    for value in walk_back((place.minimize.optimizer,)):
        if isinstance(value, Opaque) and value.kind == "call":
            given = value.arguments.keyword("grad_clip")
            if given is not None and given.values != (Constant(None),):
                return True
    return False


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the helper, and for asynchronous updates that of the communicator."""
    place: Place = ruling.data
    source = plan.entry.source
    arguments = []
    if place.program_text:
        arguments.append(f"program={place.program_text}")
    if place.startup_text:
        arguments.append(f"startup_program={place.startup_text}")
    served = serving_after(plan) if plan.options.mode != "nccl2" else None
    behind = served if served is not None and not isinstance(served, Event) else None
    if behind is not None:
        arguments.append("serve=False")
    main = [f"program={place.program_text}"] if place.program_text else []
    yield Helper("transpile_program", plan.entry)
    indentation = len(source.indentation_of(source.span(place.statement).start))
    lines = written_call(
        plan.names_in(plan.entry).fresh("transpile_program"), arguments, indentation
    )
    if plan.options.mode != "nccl2" and clips_in_optimizer(place):
        yield Helper("clip_on_trainers", plan.entry)
        name = plan.names_in(plan.entry).fresh("clip_on_trainers")
        lines = [*written_call(name, main, indentation), *lines]
    if draws_seeded_noise(plan):
        yield Helper("vary_noise", plan.entry)
        name = plan.names_in(plan.entry).fresh("vary_noise")
        lines = [*written_call(name, main, indentation), *lines]
    if place.condition:
        lines = [f"if {place.condition}:", *(f"    {line}" for line in lines)]
    for edit in insert_before(source, place.statement, lines, order=-5):
        yield In(plan.entry, edit)
    if behind is not None:
        yield Helper("serve_parameters", plan.entry)
        column = len(source.indentation_of(source.span(behind).start))
        name = plan.names_in(plan.entry).fresh("serve_parameters")
        for edit in insert_after(source, behind, written_call(name, [], column), order=-5):
            yield In(plan.entry, edit)
    if plan.options.async_mode:
        yield Helper("start_communicator", plan.entry)
        statement = behind or statement_of(plan.entry, place.startup.event.node)
        assert statement is not None
        column = len(source.indentation_of(source.span(statement).start))
        name = plan.names_in(plan.entry).fresh("start_communicator")
        for edit in insert_after(source, statement, written_call(name, main, column)):
            yield In(plan.entry, edit)
