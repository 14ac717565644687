"""Why a Fluid script cannot be transpiled."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Class, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rule import Ruling
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._questions import trained_unseen
from transpile.rules.fluid._requirements import without_fluid
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.gradients._learning_rate import (
    follows_schedule,
    is_given_to_trainers,
    is_outside_schedule,
    is_read,
)
from transpile.rules.fluid.gradients._minimizes import NOT_OPTIMIZERS, OPTIMIZERS

AVERAGES = frozenset(NOT_OPTIMIZERS)
#: Optimizers whose updates the transpiler moves to servers, and what may be put around them.
WRAPPERS = frozenset({"paddle.fluid.optimizer.Recompute"})
MOVABLE = WRAPPERS | {
    f"paddle.fluid.optimizer.{name}"
    for name in (
        "SGD", "Momentum", "LarsMomentum", "Adagrad", "DecayedAdagrad", "Adam", "Adamax",
        "RMSProp", "Ftrl",
    )
}  # fmt: skip
#: Initialisers that write a whole array, whatever part of it a server holds (seen with 1.8.5).
ARRAYS = frozenset(
    {
        "paddle.fluid.initializer.NumpyArrayInitializer",
        "paddle.fluid.initializer.BilinearInitializer",
        "paddle.fluid.initializer.Bilinear",
    }
)


def mode_of(plan: Plan) -> str:
    """How gradients are shared."""
    return "nccl2" if plan.options.mode == "nccl2" else "pserver"


def refuse(plan: Plan, code: str, event: Event | None, why: str, advice: str) -> Ruling:
    """A refusal at an event, or of the whole script."""
    module = event.module if event is not None else plan.entry
    node = event.node if event is not None else plan.entry.source.tree
    return Ruling.refuse(code, (module, node), why, advice)


def refusals(plan: Plan) -> Iterator[Ruling]:
    """Why a script is none for a transpiler."""
    roles = roles_of(plan)
    unseen = trained_unseen(plan)
    if unseen is not None:
        yield refuse(
            plan,
            "FL103",
            unseen,
            "this seems to train, but what computes gradients and updates cannot be seen "
            "from the script",
            "call minimize() of an optimizer of fluid.optimizer in the script or in a module that "
            "it imports; import fluid.Trainer by its name",
        )
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
            "this works in eager mode, which has no program to transpile",
            "use fluid.dygraph.parallel.DataParallel, or move the script to Paddle 2 and convert "
            "it there",
        )
    for event in plan.facts.reached_calls:
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
    for line in without_fluid(plan.requirements()):
        yield refuse(
            plan,
            "FL106",
            None,
            f'{line.path}, line {line.line}, asks for "{line.text}": Paddle 2.5 and later have no '
            "Fluid and no transpiler any more",
            "ask for paddlepaddle 1.8, or move the script to paddle.distributed",
        )
    for run in roles.training:
        if run.whole and mode_of(plan) == "nccl2":
            yield refuse(
                plan,
                "FL103",
                run.event,
                "this trains on a whole data set by itself, in threads that share no gradients",
                "convert with --mode pserver, or use fleet",
            )
    if plan.options.mode == "collective":
        yield refuse(
            plan,
            "FL107",
            None,
            "Fluid has no mode called collective",
            "convert with --mode nccl2 or --mode pserver",
        )
    if plan.options.evaluation == "shard":
        yield refuse(
            plan,
            "FL107",
            None,
            "every trainer evaluates everything here, so that numbers and decisions are those of "
            "one process: nothing is left to shard",
            "leave out --eval shard",
        )
    if mode_of(plan) == "pserver":
        yield from optimizers(plan)
        yield from whole_norms(plan)
        yield from rates(plan)
        yield from averages(plan)
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
    """Variables that are initialised from an array, where servers make slices themselves."""
    if not plan.options.slice_var_up or not plan.options.distributed_embedding:
        return
    for event in plan.facts.reached_calls:
        if names_of(event) & ARRAYS:
            yield refuse(
                plan,
                "FL104",
                event,
                "a server that holds a slice of this variable would be given the whole array",
                "convert with --no-slice-var-up, or initialise without an array",
            )


def optimizers(plan: Plan) -> Iterator[Ruling]:
    """Optimizers whose updates the transpiler cannot move to the servers."""
    for minimize in roles_of(plan).minimizes:
        for value in walk_back((minimize.optimizer,), enter=is_wrapped):
            unknown = sorted(set(optimizer_names(value)) - MOVABLE)
            if unknown:
                last = unknown[0].rpartition(".")[2]
                yield refuse(
                    plan,
                    "FL108",
                    minimize.event,
                    f"DistributeTranspiler does not know the updates of {last}: it fails, or "
                    "leaves parameters without updates",
                    "take another optimizer, or convert with --mode nccl2",
                )
                return


def whole_norms(plan: Plan) -> Iterator[Ruling]:
    """Optimizers that take norms of variables, where variables are cut into slices."""
    if not plan.options.slice_var_up:
        return
    for minimize in roles_of(plan).minimizes:
        if "paddle.fluid.optimizer.LarsMomentum" in called_names(minimize.optimizer):
            yield refuse(
                plan,
                "FL110",
                minimize.event,
                "LARS divides by norms of whole variables, and a server would take those of slices",
                "convert with --no-slice-var-up",
            )


def rates(plan: Plan) -> Iterator[Ruling]:
    """Learning rates that a trainer would have to tell the servers."""
    for minimize in roles_of(plan).minimizes:
        if is_given_to_trainers(plan, minimize):
            yield refuse(
                plan,
                "FL109",
                minimize.event,
                "the servers hold the learning rate: what the script feeds or sets does not come "
                "to them",
                "let the program compute the learning rate, as fluid.layers.piecewise_decay does, "
                "or convert with --mode nccl2",
            )
        elif follows_schedule(minimize) and (
            reading := is_read(plan, (run.event for run in roles_of(plan).training))
        ):
            yield refuse(
                plan,
                "FL109",
                reading,
                "the servers compute the learning rate of this schedule: a trainer that fetches it "
                "crashes (seen with Fluid 1.8), and one that looks at it sees another number",
                "leave it out of what is fetched and shown, or convert with --mode nccl2",
            )
        elif is_outside_schedule(plan, minimize):
            yield refuse(
                plan,
                "FL109",
                minimize.event,
                "the learning rate is computed from that of a schedule here, and servers get the "
                "operators of schedules alone",
                "compute it in a with block of program._lr_schedule_guard(), or convert with "
                "--mode nccl2",
            )


def averages(plan: Plan) -> Iterator[Ruling]:
    """Averages of parameters, which would be updated apart from the trainer that reads them."""
    for event in plan.facts.reached_calls:
        if names_of(event) & AVERAGES:
            yield refuse(
                plan,
                "FL108",
                event,
                "averages of the parameters are updated behind the optimizer, where "
                "DistributeTranspiler moves them to the servers, and trainers apply their own",
                "leave the averages out, or convert with --mode nccl2",
            )


def optimizer_names(value: Value) -> Iterator[str]:
    """The names of the optimizer that a value is."""
    for name in called_names(value):
        if name.startswith(OPTIMIZERS) and not name.startswith(NOT_OPTIMIZERS):
            yield name


def is_wrapped(value: Value) -> bool:
    """Whether a value is made around an optimizer, which is to be looked at, too."""
    return not isinstance(value, Opaque) or any(name in WRAPPERS for name in called_names(value))


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
