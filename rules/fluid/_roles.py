"""What a Fluid script is made of: programs that are minimised, runs of executors, feeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Opaque,
    Unknown,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.fluid._programs import STARTUP, Program, programs_of

OPTIMIZERS = ("paddle.fluid.optimizer.", "paddle.fluid.contrib.")
NOT_OPTIMIZERS = (
    "paddle.fluid.optimizer.ExponentialMovingAverage",
    "paddle.fluid.optimizer.ModelAverage",
)
EXECUTOR = "paddle.fluid.Executor"
PARALLEL_EXECUTOR = "paddle.fluid.ParallelExecutor"
#: What reads parameters.
LOADS = frozenset(
    {
        "paddle.fluid.io.load_vars", "paddle.fluid.io.load_params",
        "paddle.fluid.io.load_persistables", "paddle.fluid.io.load", "paddle.fluid.load",
        "paddle.fluid.io.set_program_state", "paddle.fluid.set_program_state",
        "paddle.fluid.io.load_inference_model",
    }
)  # fmt: skip
#: Modules that hold the Trainer, for scripts that import all of their names.
TRAINED_BY = ("paddle.fluid.trainer", "paddle.fluid.contrib.trainer")
#: Methods that add updates, and the name and place of the gradients that they are given.
UPDATES = (("apply_gradients", "params_grads", 0), ("apply_optimize", "params_grads", 2))
TRANSPILERS = frozenset(
    {"paddle.fluid.DistributeTranspiler", "paddle.fluid.DistributeTranspilerSimple"}
)
TRAINERS = (
    "paddle.fluid.Trainer",
    "paddle.fluid.trainer.Trainer",
    "paddle.fluid.contrib.Trainer",
    "paddle.fluid.contrib.trainer.Trainer",
)


@dataclass(frozen=True, eq=False)
class Minimize:
    """What adds the backward pass and the updates to a program.

    That is ``optimizer.minimize(loss)``, or ``optimizer.apply_gradients(...)`` behind a backward
    pass of its own.

    Args:
        event: the call that adds the updates.
        optimizer: the object.
        loss: what is minimised.
        program: the program that the loss stands in.
        startup: the program that initialises its variables.
        backward: the call that is given the loss.
    """

    event: Event
    optimizer: Value
    loss: Values
    program: Program | None
    startup: Program | None
    backward: Event


@dataclass(frozen=True, eq=False)
class Run:
    """A ``run`` of an executor.

    Args:
        event: the call.
        programs: the programs that it may run; None among them where one is not known.
        feed: the argument with the data.
        whole: by something that trains on a whole data set by itself.
    """

    event: Event
    programs: frozenset[Program | None]
    feed: Argument | None
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles of a script.

    Args:
        minimizes: what is minimised.
        runs: every run of an executor.
        transpiles: calls that make a program distributed.
        trainers: objects of the time before executors were called by the script itself.
        dygraph: where eager mode is switched on.
    """

    minimizes: tuple[Minimize, ...]
    runs: tuple[Run, ...]
    transpiles: tuple[Event, ...]
    trainers: tuple[Event, ...]
    dygraph: tuple[Event, ...]

    @property
    def minimize(self) -> Minimize | None:
        """The only thing that is minimised; None where there are several or none.

        Of several on different ways through the script, which add to one program, it is the last.
        """
        several = self.minimizes
        if any(
            (one.program, one.startup) != (other.program, other.startup)
            or not apart(one.event, other.event)
            for number, one in enumerate(several)
            for other in several[:number]
        ):
            return None
        return several[-1] if several else None

    @property
    def training(self) -> tuple[Run, ...]:
        """The runs that train."""
        keys = {each.program.key for each in self.minimizes if each.program is not None}
        return tuple(
            run
            for run in self.runs
            if any(
                program is None or (program.key in keys and not program.testing)
                for program in run.programs
            )
        )

    @property
    def starts(self) -> tuple[Run, ...]:
        """The runs that initialise what is minimised."""
        keys = {each.startup.key for each in self.minimizes if each.startup is not None}
        return tuple(
            run
            for run in self.runs
            if any(program is not None and program.key in keys for program in run.programs)
        )


def apart(event: Event, other: Event) -> bool:
    """Whether at most one of two events happens."""
    arms = {id(each.node): each.arm for each in event.stack if isinstance(each, Branch)}
    return any(
        isinstance(each, Branch) and arms.get(id(each.node), each.arm) != each.arm
        for each in other.stack
    )


def roles_of(plan: Plan) -> Roles:
    """The roles of a script; found once for all rules."""
    if "fluid roles" not in plan.memo:
        plan.memo["fluid roles"] = find_roles(plan)
    found: Roles = plan.memo["fluid roles"]
    return found


def find_roles(plan: Plan) -> Roles:
    """See :func:`roles_of`."""
    calls = [event for event in plan.facts.events if event.kind == "call" and not event.detached]
    return Roles(
        tuple(find_minimizes(plan, calls)),
        tuple(find_runs(plan, calls)),
        tuple(event for event in calls if calls_method(event, "transpile", TRANSPILERS)),
        tuple(event for event in calls if names_of(event) & set(TRAINERS)),
        tuple(
            event
            for event in calls
            if any(name.startswith("paddle.fluid.dygraph.") for name in names_of(event))
        ),
    )


def names_of(event: Event) -> set[str]:
    """The names outside the project that an event calls."""
    return {callee.name for callee in event.callee if isinstance(callee, External)}


def receivers_of(event: Event, method: str) -> Values:
    """What a method is called on in an event; empty where another function is called."""
    found: list[Value] = []
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == method:
            found.extend(callee.operands[0])
    return tuple(found)


def calls_method(event: Event, method: str, makers: Iterable[str]) -> bool:
    """Whether an event calls a method of an object that one of `makers` makes."""
    wanted = set(makers)
    return any(wanted.intersection(called_names(value)) for value in receivers_of(event, method))


def find_minimizes(plan: Plan, calls: list[Event]) -> Iterator[Minimize]:
    """Every call that adds updates to a program."""
    programs = programs_of(plan)
    for event in calls:
        for optimizer in receivers_of(event, "minimize"):
            if not is_optimizer(optimizer):
                continue
            startup = programs.current(event.stack, 1)
            given = event.arguments.get("startup_program", 1)
            if given is not None and given.values != (Constant(None),):
                startup = programs.of(given.values)
            yield minimized(plan, event, optimizer, event, startup)
            break
        for method, name, position in UPDATES:
            for optimizer in receivers_of(event, method):
                gradients = event.arguments.get(name, position)
                if not is_optimizer(optimizer) or gradients is None:
                    continue
                passes = [each for each in calls if is_backward(each)]
                behind = {id(value) for value in walk_back(gradients.values)}
                backward = [
                    each for each in passes if any(id(value) in behind for value in each.result)
                ] or passes[:1]
                startup = programs.current(event.stack, 1)
                yield minimized(plan, event, optimizer, (backward or [event])[0], startup)


def minimized(
    plan: Plan, event: Event, optimizer: Value, backward: Event, startup: Program | None
) -> Minimize:
    """What is minimised by a call, the loss being given to `backward`."""
    loss = loss_of(backward)
    program = programs_of(plan).current(event.stack, 0)
    values = loss.values if loss is not None else ()
    return Minimize(event, optimizer, values, program, startup, backward)


def is_backward(event: Event) -> bool:
    """Whether an event adds a backward pass without updates to a program."""
    if names_of(event) & {"paddle.fluid.backward.append_backward"}:
        return True
    return any(is_optimizer(value) for value in receivers_of(event, "backward"))


def loss_of(event: Event) -> Argument | None:
    """The loss that a call is given, of which gradients are taken; None where it is given none."""
    if any(receivers_of(event, method) for method, _, _ in UPDATES):
        return None
    return event.arguments.get("loss", 0)


def is_optimizer(value: Value) -> bool:
    """Whether a value is an optimizer, or something around one."""
    for name in called_names(value):
        if name.startswith(OPTIMIZERS) and not name.startswith(NOT_OPTIMIZERS):
            return True
    return False


def find_runs(plan: Plan, calls: list[Event]) -> Iterator[Run]:
    """Every run of an executor."""
    programs = programs_of(plan)
    for event in calls:
        for method in ("train_from_dataset", "infer_from_dataset"):
            if calls_method(event, method, {EXECUTOR}):
                given = event.arguments.get("program", 0)
                whole = method == "train_from_dataset"
                yield Run(event, frozenset(found_in(plan, event, given)), None, whole)
        found: set[Program | None] = set()
        feeds: list[Argument] = []
        for executor in receivers_of(event, "run"):
            names = called_names(executor)
            if EXECUTOR in names:
                found |= found_in(plan, event, event.arguments.get("program", 0))
                feed = event.arguments.get("feed", 1)
            elif PARALLEL_EXECUTOR in names:
                assert isinstance(executor, Opaque)
                given = executor.arguments.get("main_program", 2)
                made = programs.made.get(id(executor))
                found |= found_in(plan, made or event, given)
                feed = event.arguments.get("feed", 1) or event.arguments.keyword("feed_dict")
            else:
                continue
            if feed is not None and feed.values != (Constant(None),):
                feeds.append(feed)
        if found:
            yield Run(event, frozenset(found), feeds[0] if feeds else None)


def found_in(plan: Plan, event: Event, given: Argument | None) -> set[Program | None]:
    """The programs that an argument stands for; without one, what is the default at the place."""
    programs = programs_of(plan)
    if given is None or given.values == (Constant(None),):
        return {programs.current(event.stack, 0)}
    found: set[Program | None] = programs.several(given.values)
    return found


# The machine's questions about a script.


def trains(plan: Plan) -> bool:
    """Whether something is minimised, or trained by an object of an older time or unseen."""
    roles = roles_of(plan)
    if roles.minimizes or roles.trainers or trained_unseen(plan):
        return True
    return any(
        name.startswith(("paddle.v2.trainer.", "paddle.fluid.dygraph.parallel."))
        for event in plan.facts.events
        if event.kind == "call" and not event.detached
        for name in names_of(event)
    ) or bool(roles.dygraph and any(receivers_of(e, "minimize") for e in plan.facts.events))


def trained_unseen(plan: Plan) -> Event | None:
    """What trains, though no updates are seen to be added to a program; None where nothing does.

    A program that runs batch after batch with parameters that were read from nowhere is trained.
    """
    roles = roles_of(plan)
    if roles.minimizes or roles.trainers:
        return None
    loads: list[Event] = []
    for event in plan.facts.events:
        if event.kind != "call" or event.detached:
            continue
        if names_of(event) & LOADS:
            loads.append(event)
        for callee in event.callee:
            if isinstance(callee, Unknown) and any(name in callee.reason for name in TRAINED_BY):
                return event
    if always_one_of(loads):
        return None
    for run in roles.runs:
        if not loops_around(run.event) or not any(run.event.result):
            continue
        keys = {
            program.key if program is not None and not (program.foreign or program.testing) else ()
            for program in run.programs
        }
        if keys - {()} and STARTUP not in keys:
            return run.event
    return None


def always_one_of(events: list[Event]) -> bool:
    """Whether one of the events happens on every way through the script."""
    arms: dict[int, set[str]] = {}
    for event in events:
        around = [frame for frame in event.stack if isinstance(frame, Branch)]
        if not around:
            return True
        if isinstance(around[-1].node, cst.If):
            arms.setdefault(id(around[-1].node), set()).add(around[-1].arm)
    return any(len(found) > 1 for found in arms.values())


def distributed(plan: Plan) -> str:
    """How a script is distributed already; empty where it is not."""
    roles = roles_of(plan)
    if roles.transpiles:
        return "it makes its program distributed itself (DistributeTranspiler.transpile)"
    for event in plan.facts.events:
        if event.kind == "call" and not event.detached and is_fleet(event):
            return "it is distributed by fleet"
    return ""


def is_fleet(event: Event) -> bool:
    """Whether an event sets up fleet or the transpiler of collectives."""
    return any(
        (".fleet." in name and name.endswith((".init", ".distributed_optimizer")))
        or name.startswith("paddle.fluid.transpiler.collective.")
        for name in names_of(event)
    )


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """What some rule must take care of."""
    roles = roles_of(plan)
    for minimize in roles.minimizes:
        yield "call of minimize", minimize.event.module, minimize.event.node
    for run in roles.training:
        yield "run of the training program", run.event.module, run.event.node


# What several rules ask.


def loops_around(event: Event) -> list[Loop]:
    """The loops around an event, innermost first."""
    return list(reversed(list(event.loops())))


def comes_from(values: Values, wanted: set[int]) -> bool:
    """Whether values are made of one of the values with these identities."""
    return any(id(value) in wanted for value in walk_back(values))


def is_method_of(value: Value, method: str, makers: Iterable[str]) -> Values:
    """The receivers where a value is the result of a method of what one of `makers` makes."""
    wanted = set(makers)
    return tuple(
        receiver
        for name, receivers in method_calls(value)
        if name == method
        for receiver in receivers
        if wanted.intersection(called_names(receiver))
    )
