"""What adds a backward pass and updates to a program."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Branch, Event
from transpile.facts.values import Argument, Constant, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.fluid._events import names_of, receivers_of
from transpile.rules.fluid.programs._programs import Program, programs_of

OPTIMIZERS = ("paddle.fluid.optimizer.", "paddle.fluid.contrib.")
NOT_OPTIMIZERS = (
    "paddle.fluid.optimizer.ExponentialMovingAverage",
    "paddle.fluid.optimizer.ModelAverage",
)
#: Methods that add updates, and the name and place of the gradients that they are given.
UPDATES = (("apply_gradients", "params_grads", 0), ("apply_optimize", "params_grads", 2))


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
    values = loss.values if loss is not None else ()
    program = program_of(plan, values) or programs_of(plan).current(event.stack, 0)
    return Minimize(event, optimizer, values, program, startup, backward)


def program_of(plan: Plan, loss: Values) -> Program | None:
    """The program in which a loss was made, which may not be the current one any more."""
    wanted = {id(value) for value in loss}
    found = [
        programs_of(plan).current(event.stack, 0)
        for event in plan.facts.reached_calls
        if any(id(value) in wanted for value in event.result)
    ]
    keys = {program.key if program is not None else None for program in found}
    return found[0] if len(keys) == 1 else None


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


def apart(event: Event, other: Event) -> bool:
    """Whether at most one of two events happens."""
    arms = {id(each.node): each.arm for each in event.stack if isinstance(each, Branch)}
    return any(
        isinstance(each, Branch) and arms.get(id(each.node), each.arm) != each.arm
        for each in other.stack
    )
