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

from transpile.facts.events import Event
from transpile.facts.values import Class
from transpile.finding import Level
from transpile.layout import insert_after, insert_before
from transpile.layout.calls import written_call
from transpile.plan.model import Plan
from transpile.plan.places import statement_of
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.fluid._place import NoPlace, Place, place_of
from transpile.rules.fluid._roles import names_of, roles_of

CODES = {
    "FL101": "the program is transpiled here",
    "FL102": "the program cannot be transpiled",
    "FL103": "this is trained by something that no transpiler knows",
    "FL104": "slices of a variable cannot be initialised from an array",
    "FL105": "asynchronous updates",
    "FL106": "this needs a newer Paddle, which has no Fluid",
    "FL107": "a choice that Fluid conversions cannot follow",
}
#: Initialisers that write a whole array, whatever part of it a server holds (seen with 1.8.5).
ARRAYS = frozenset(
    {
        "paddle.fluid.initializer.NumpyArrayInitializer",
        "paddle.fluid.initializer.BilinearInitializer",
        "paddle.fluid.initializer.Bilinear",
    }
)


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


def mode_of(plan: Plan) -> str:
    """How gradients are shared."""
    return "nccl2" if plan.options.mode == "nccl2" else "pserver"


def claimed(plan: Plan) -> Iterator[cst.CSTNode]:
    """What becomes distributed with the program."""
    roles = roles_of(plan)
    yield from (minimize.event.node for minimize in roles.minimizes)
    yield from (run.event.node for run in roles.training)


def refuse(plan: Plan, code: str, event: Event | None, why: str, advice: str) -> Ruling:
    """A refusal at an event, or of the whole script."""
    module = event.module if event is not None else plan.entry
    node = event.node if event is not None else plan.entry.source.tree
    return Ruling(code, Verdict.REFUSE, module, node, why, advice)


def refusals(plan: Plan) -> Iterator[Ruling]:
    """Why a script is none for a transpiler."""
    roles = roles_of(plan)
    for event in roles.trainers:
        yield refuse(
            plan,
            "FL103",
            event,
            "this Trainer transpiles its program itself when PADDLE_TRAINING_ROLE is set, and "
            "hides the executor and the startup program that a conversion has to see",
            "start it with PADDLE_TRAINING_ROLE, PADDLE_PSERVER_IPS, PADDLE_PSERVER_PORT, "
            "PADDLE_TRAINERS and PADDLE_TRAINER_ID, and give each trainer a part of the reader; or "
            "write the loop with fluid.Executor",
        )
    for event in roles.dygraph:
        yield refuse(
            plan,
            "FL103",
            event,
            "this trains in eager mode, which has no program to transpile",
            "use fluid.dygraph.parallel.DataParallel, or move the script to Paddle 2 and convert "
            "it there",
        )
    for event in plan.facts.events:
        if event.kind != "call" or event.detached:
            continue
        names = names_of(event)
        if any(name.startswith("paddle.v2.") for name in names):
            yield refuse(
                plan,
                "FL103",
                event,
                "this is Paddle before Fluid, whose trainers know no programs",
                "move the script to Fluid 1.x",
            )
        if asks_for_newer(event):
            yield refuse(
                plan,
                "FL106",
                event,
                "this asks for Paddle 2.5 or later, which has no Fluid and no transpiler any more",
                "run the script with Paddle 1.8, or move it to paddle.distributed",
            )
    for run in roles.training:
        if run.whole:
            yield refuse(
                plan,
                "FL103",
                run.event,
                "this trains on a whole data set by itself, so that its files cannot be divided "
                "with the same number of batches for every trainer",
                "give each trainer its part of the files and use fleet",
            )
    if plan.options.mode == "collective":
        yield refuse(
            plan,
            "FL107",
            None,
            "Fluid has no mode called collective",
            "convert with --mode nccl2 or --mode pserver",
        )
    if plan.options.scale_lr != "none":
        yield refuse(
            plan,
            "FL107",
            roles.minimizes[0].event if roles.minimizes else None,
            "--scale-lr is not known for Fluid: the servers hold the learning rate",
            "give the optimizer the larger rate in the script",
        )
    if mode_of(plan) == "pserver":
        yield from arrays(plan)
        yield from own_method(plan)


def asks_for_newer(event: Event) -> bool:
    """Whether an event says that the script needs a version without Fluid."""
    if not any(name.endswith(".require_version") for name in names_of(event)):
        return False
    least = event.arguments.get("min_version", 0)
    if least is None or len(least.values) != 1:
        return False
    words = str(getattr(least.values[0], "value", "")).split(".")
    return [int(word) for word in words[:2] if word.isdigit()] >= [2, 5]


def arrays(plan: Plan) -> Iterator[Ruling]:
    """Variables that are initialised from an array, where variables are cut into slices."""
    if not plan.options.slice_var_up:
        return
    for event in plan.facts.events:
        if event.kind == "call" and not event.detached and names_of(event) & ARRAYS:
            yield refuse(
                plan,
                "FL104",
                event,
                "a server that holds a slice of this variable would be given the whole array",
                "convert with --no-slice-var-up, or initialise without an array",
            )


def own_method(plan: Plan) -> Iterator[Ruling]:
    """A dispatcher of the user's own that is not there."""
    method = plan.options.split_method
    if method in ("RoundRobin", "HashName") or "." in method:
        return
    scope = plan.entry.scope
    values = scope.names.get(method, ()) if scope is not None else ()
    if not values or not all(isinstance(value, Class) for value in values):
        yield refuse(
            plan,
            "FL102",
            None,
            f"--split-method names {method}, which is no class of this script",
            "give the dotted name of a class, RoundRobin or HashName",
        )


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
