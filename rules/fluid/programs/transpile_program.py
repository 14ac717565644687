"""Transpile the program for this process's role, once, before it is initialised.

What:
    Calls a helper between ``minimize()`` and the run of the startup program. For a parameter server
    it runs the server's programs and never returns; for a trainer it takes the updates out of the
    program and puts the exchange with the servers in (with ``--mode nccl2``, the exchange between
    the trainers). Without a launcher it does nothing. Servers begin with the values that one
    process begins with; where the script loads weights, they load them, too, and serve then. Of
    several programs that are trained, as those of a generator and a discriminator, each has servers
    of its own; the output stops where two of them train the same parameter.

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
    several losses are minimised in one program; the program or where it is initialised cannot be
    told; the script uses eager mode, Paddle before Fluid, or the Trainer that came before
    executors; a variable is initialised from an array and shall be cut into slices; several
    programs are trained without synchronous servers, or weights are loaded for one of them.

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
from transpile.layout.lines import statement_indentation
from transpile.plan.flow.places import insertion_place
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.gradients._minimizes import Minimize
from transpile.rules.fluid.losses._averages import averaged
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
    if place.others and serving_after(plan) is not None:
        yield refuse(
            plan,
            "FL102",
            place.event,
            "weights are loaded here for one of several programs that are trained",
            "load none, or train one program",
        )
        return
    yield Ruling.apply(
        "FL101",
        (plan.entry, place.statement),
        f"the program is transpiled here ({mode_of(plan)})",
        data=place,
        claims=tuple(claimed(plan)),
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


def clips_in_optimizer(minimizes: tuple[Minimize, ...]) -> bool:
    """Whether an optimizer itself clips gradients, as it can from Fluid 1.8 on."""
    for value in walk_back(tuple(each.optimizer for each in minimizes)):
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
    each_program = [main, *([f"program={text}"] for text in place.others)]
    indentation = len(statement_indentation(source, place.statement))
    helper = "transpile_program"
    given = arguments
    if place.others:
        helper = "transpile_programs"
        texts = [*place.others, place.program_text or "None"]
        given = [f"[{', '.join(texts)}]"]
        given += [text for text in arguments if text.startswith("startup_program=")]
    yield Helper(helper, plan.entry)
    lines = written_call(plan.names_in(plan.entry).fresh(helper), given, indentation)
    numbers = dict.fromkeys(name for each in averaged(plan) for name in each.names)
    if numbers:
        yield Helper("add_averages", plan.entry)
        name = plan.names_in(plan.entry).fresh("add_averages")
        own = [each for each in arguments if not each.startswith("serve=")]
        sums = dict.fromkeys(name for each in averaged(plan) for name in sorted(each.sums))
        if sums:
            own = [f"sums=[{', '.join(sums)}]", *own]
        lines = [*written_call(name, [f"[{', '.join(numbers)}]", *own], indentation), *lines]
    if plan.options.mode != "nccl2" and clips_in_optimizer(roles_of(plan).minimizes):
        yield Helper("clip_on_trainers", plan.entry)
        name = plan.names_in(plan.entry).fresh("clip_on_trainers")
        for one in each_program:
            lines = [*written_call(name, one, indentation), *lines]
    if draws_seeded_noise(plan):
        yield Helper("vary_noise", plan.entry)
        name = plan.names_in(plan.entry).fresh("vary_noise")
        for one in each_program:
            lines = [*written_call(name, one, indentation), *lines]
    if place.condition:
        lines = [f"if {place.condition}:", *(f"    {line}" for line in lines)]
    for edit in insert_before(source, place.statement, lines, order=-5):
        yield In(plan.entry, edit)
    if behind is not None:
        yield Helper("serve_parameters", plan.entry)
        column = len(statement_indentation(source, behind))
        name = plan.names_in(plan.entry).fresh("serve_parameters")
        for edit in insert_after(source, behind, written_call(name, [], column), order=-5):
            yield In(plan.entry, edit)
    if plan.options.async_mode:
        yield Helper("start_communicator", plan.entry)
        statement = behind or insertion_place(plan.entry, place.startup.event.node)
        assert statement is not None
        column = len(statement_indentation(source, statement))
        name = plan.names_in(plan.entry).fresh("start_communicator")
        for edit in insert_after(source, statement, written_call(name, main, column)):
            yield In(plan.entry, edit)
