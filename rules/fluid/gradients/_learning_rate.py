"""Where the learning rate of an optimizer comes from, and what changes it while training runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transpile.facts.events import Event, Within
from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rules.fluid._events import names_of, receivers_of
from transpile.rules.fluid.gradients._minimizes import Minimize
from transpile.rules.fluid.losses._losses import DATA, is_variable

OWN = frozenset({"paddle.fluid.layers.create_global_var", "paddle.fluid.layers.create_parameter"})
SCHEDULES = frozenset(
    f"paddle.fluid.layers.{name}"
    for name in (
        "exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay",
        "piecewise_decay", "noam_decay", "cosine_decay", "linear_lr_warmup",
    )
)  # fmt: skip
#: Layers that keep counts of their own, which no server holds.
COUNTS = frozenset({"paddle.fluid.layers.auc", "paddle.fluid.layers.precision_recall"})
ASSIGN = "paddle.fluid.layers.assign"


def rate_of(minimize: Minimize) -> Values:
    """What may be the learning rate of an optimizer."""
    found: list[Value] = []
    for value in walk_back((minimize.optimizer,)):
        if not isinstance(value, Opaque):
            continue
        if any(name.startswith("paddle.fluid.optimizer.") for name in called_names(value)):
            given = value.arguments.get("learning_rate", 0)
            found.extend(given.values if given is not None else ())
    return tuple(found)


def follows_schedule(minimize: Minimize) -> bool:
    """Whether the learning rate is that of a schedule, which counts steps."""
    return any(
        SCHEDULES.intersection(called_names(value)) for value in walk_back(rate_of(minimize))
    )


def is_given_to_trainers(plan: Plan, minimize: Minimize) -> bool:
    """Whether trainers feed or set the learning rate: its servers compute it from nothing else."""
    behind = {id(value): value for value in walk_back(rate_of(minimize))}
    if any(DATA.intersection(called_names(value)) for value in behind.values()):
        return True
    own = [key for key, value in behind.items() if OWN.intersection(called_names(value))]
    computed = {
        id(value)
        for event in plan.facts.calls
        if ASSIGN in names_of(event)
        for argument in (event.arguments.get("output", 1),)
        if argument is not None
        for value in argument.values
    }
    return any(key not in computed for key in own)


def is_outside_schedule(plan: Plan, minimize: Minimize) -> bool:
    """Whether operators behind a schedule make the learning rate, which servers do not get."""
    guarded = any(
        isinstance(frame, Within)
        and any(
            name == "_lr_schedule_guard"
            for each in frame.managers
            for name, _ in method_calls(each)
        )
        for event in plan.facts.events
        for frame in event.stack
    )
    if guarded:
        return False
    for value in rate_of(minimize):
        names = called_names(value)
        of_program = is_variable(value) and not OWN.intersection(names)
        if of_program and not SCHEDULES.intersection(names):
            return True
    return False


def is_read(plan: Plan, runs: Iterable[Event]) -> Event | None:
    """What reads the rate of a schedule on a trainer: a run that fetches it, or a look at it."""
    for event in runs:
        fetched = event.arguments.get("fetch_list", 2)
        if fetched is not None and is_rate(fetched.values):
            return event
    for event in plan.facts.reached_calls:
        given = event.arguments.get("name", 0)
        if given is not None and receivers_of(event, "find_var") and is_rate(given.values):
            return event
    return None


def is_rate(values: Values) -> bool:
    """Whether something is the learning rate of a schedule, or its name."""
    for value in walk_back(values):
        if SCHEDULES.intersection(called_names(value)):
            return True
        if any(method == "_global_learning_rate" for method, _ in method_calls(value)):
            return True
        if isinstance(value, Constant) and str(value.value).startswith("learning_rate"):
            return True
    return False


def sets_variable(event: Event) -> bool:
    """Whether an event writes an array into a variable of a scope."""
    return any(is_held(value, 0) for value in receivers_of(event, "set"))


def is_held(value: Value, depth: int) -> bool:
    """Whether a value is a variable that a scope holds, or its tensor."""
    if depth > 5:
        return False
    return any(
        method in ("find_var", "var")
        or (method == "get_tensor" and any(is_held(each, depth + 1) for each in receivers))
        for method, receivers in method_calls(value)
    )


def setters(plan: Plan) -> Iterator[Event]:
    """What writes arrays into variables of a scope, but for the counts of a metric."""
    for event in plan.facts.reached_calls:
        if not sets_variable(event):
            continue
        named = walk_back(receivers_of(event, "set"))
        if not any(COUNTS.intersection(called_names(value)) for value in named):
            yield event
