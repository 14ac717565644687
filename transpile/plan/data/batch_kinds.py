"""Where the rows come from that training steps give to their models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.values import Function, Instance, Opaque, Unknown, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Backward, Plan
from transpile.plan.models.gradient_flow import reached_by_gradients
from transpile.plan.models.learning import outputs
from transpile.plan.models.method_calls import training_calls
from transpile.plan.query import query

#: What gives the same on all ranks for what it is given, but for random numbers; so does the
#: framework.
REPEATABLE = ("numpy.", "math.", "copy.", "builtins.", "collections.", "itertools.", "functools.",
              "operator.")  # fmt: skip
#: Methods in a chain that are followed.
MOST_METHODS = 50


class Batch(Enum):
    """Where the rows come from that a training step gives to a model."""

    DRAWN = "drawn"
    """Each step draws them from data."""
    FIXED = "fixed"
    """They are the same in every step."""
    ACTED = "acted"
    """They come from acting with what the same call of the model gave before."""


def batch_of(plan: Plan, backward: Backward) -> Batch:
    """Where the rows of a backward pass come from."""
    if backward.loaders or backward.cuts:
        return Batch.DRAWN
    learned = reached_by_gradients(plan)
    forwards = [
        event
        for model in backward.models
        for event in training_calls(plan, model)
        # What was acted on gives numbers to a loss, which no gradients flow back through.
        if event.order < backward.event.order
        and any(id(value) in learned for value in outputs(event))
    ]
    reached = {id(value) for value in walk_back(backward.loss, enters_made)}
    # Another loop before this one may train the same model: its calls are none of this loss.
    own = [each for each in forwards if any(id(value) in reached for value in outputs(each))]
    forwards = own or forwards
    around = {id(frame.node) for frame in backward.event.loops()}
    if not forwards:
        # Parts and parameters of a model are used past its call: what they meet tells.
        behind = walk_back(backward.loss, enters_made)
        made = made_in_loops(plan, around)
        found = any(
            is_of_unknown_origin(value) or (is_drawn(plan, value) and id(value) in made)
            for value in behind
        )
        return Batch.DRAWN if found else Batch.FIXED
    drawn = [forward for forward in forwards if draws_in(plan, forward, around)]
    if not drawn and any(id(loop.node) not in around for each in forwards for loop in each.loops()):
        # Many calls on what is there at the time, and one step for all of them.
        return Batch.ACTED
    if any(feeds_itself(plan, forward) for forward in forwards):
        return Batch.ACTED
    return Batch.DRAWN if drawn else Batch.FIXED


def enters_made(value: Value) -> bool:
    """Whether what a value is made of is looked at."""
    return not isinstance(value, (Instance, Function))


def without_batch(
    plan: Plan, are_rows: Callable[[Backward], bool] = lambda backward: False
) -> Iterator[tuple[Event, tuple[str, str]]]:
    """The backward passes whose rows cannot be shared, with the reason and what to do by hand.

    Args:
        plan: the plan.
        are_rows: whether what a backward pass goes through is shown to be rows, each by itself.
    """
    for backward in plan.backwards:
        if backward.event.detached or not backward.models:
            continue
        batch = batch_of(plan, backward)
        if batch is Batch.ACTED:
            why = "each step trains on what acting with the model gave just before"
            yield backward.event, (why, "collect what is played, and draw batches from it")
        elif batch is Batch.FIXED and plan.options.shard != "calls" and not are_rows(backward):
            why = "every step trains on the same rows: no batch is drawn from data"
            yield backward.event, (
                why,
                "--shard calls shards the rows of each call, if the model keeps them apart",
            )


def draws_in(plan: Plan, forward: Event, loops: set[int]) -> bool:
    """Whether what a call is given is, or may be, redrawn in one of some loops."""
    made = made_in_loops(plan, loops)
    return any(
        is_of_unknown_origin(value)
        or id(value) in made_by_generators(plan)
        or (is_drawn(plan, value) and (id(value) in made or not is_call(value)))
        for value in given(forward)
    )


def given(event: Event) -> Iterator[Value]:
    """All that the arguments of a call were made of."""
    values = tuple(value for item in event.arguments.items for value in item.values)
    return walk_back(values, lambda value: not isinstance(value, (Instance, Function)))


@query
def _made_in_loops(plan: Plan) -> dict[int, set[int]]:
    return {id(value): loops_around(event) for event in plan.facts.events for value in event.result}


def made_in_loops(plan: Plan, loops: set[int]) -> set[int]:
    """The identities of what is recreated in one of some loops."""
    made = _made_in_loops(plan)
    return {identity for identity, around in made.items() if around & loops}


@query
def made_by_generators(plan: Plan) -> set[int]:
    """The identities of what generators make anew in their own loops, from whatever they hold."""
    return {
        id(value)
        for event in plan.facts.events
        if in_loop_of_generator(event)
        for value in event.result
    }


def loops_around(event: Event) -> set[int]:
    """The loops that an event happens in."""
    return {id(loop.node) for loop in event.loops()}


def in_loop_of_generator(event: Event) -> bool:
    """Whether an event happens in a loop of a generator, which goes on where it is drawn from."""
    within = False
    for frame in event.stack:
        if isinstance(frame, Call):
            within = frame.function.is_generator
        elif within and isinstance(frame, Loop):
            return True
    return False


def is_call(value: Value) -> bool:
    """Whether a value is what a call gave."""
    return isinstance(value, Opaque) and value.kind == "call"


def is_of_unknown_origin(value: Value) -> bool:
    """Whether it is not seen what a value was made of."""
    if isinstance(value, (Unknown, Instance)):
        return True
    if not isinstance(value, Opaque):
        return False
    if value.arguments.unknown_because:
        return True
    return value.kind == "operation" and not any(value.operands)


def is_drawn(plan: Plan, value: Value) -> bool:
    """Whether a value may be another each time that it is made of the same."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element":
        return True
    if value.kind == "item" and isinstance(value.node, cst.Subscript):
        return any(
            isinstance(part, cst.Name) for each in value.node.slice for part in descendants(each)
        )
    if value.kind != "call":
        return False
    if draws_from_distribution(plan, value):
        return True
    repeatable = (*REPEATABLE, *(f"{package}." for package in plan.table.packages))
    return any(
        not name.startswith(repeatable)
        or ".rand" in name
        or name == "builtins.next"
        or name in plan.table.draws
        for name in called_names(base_of_call(value))
    )


#: Methods of distributions that draw random numbers.
SAMPLING = frozenset({"sample", "rsample", "sample_n", "rsample_n"})


def draws_from_distribution(plan: Plan, value: Opaque) -> bool:
    """Whether a value is what a distribution of the framework drew, or was made of that."""
    distributions = plan.table.quantities.distributions
    seen: Value = value
    drawn = False
    for _ in range(MOST_METHODS):
        received = method_calls(seen)
        if not received or not received[0][1]:
            break
        drawn = drawn or received[0][0] in SAMPLING
        seen = received[0][1][0]
    return drawn and any(name.startswith(distributions) for name in called_names(seen))


def base_of_call(value: Opaque) -> Value:
    """The call behind a chain of methods: ``torch.rand(3)`` of ``torch.rand(3).to(device).abs()``.

    What a library's object gives is as good as drawn by the call that made the object, and so is
    what a part of that object gives, as in ``mnist.train.next_batch(32)``.
    """
    seen: Value = value
    for _ in range(MOST_METHODS):
        received = method_calls(seen)
        if received and received[0][1]:
            seen = received[0][1][0]
        elif isinstance(seen, Opaque) and seen.kind == "attribute" and any(seen.operands):
            seen = next(values[0] for values in seen.operands if values)
        else:
            return seen
    return seen


def feeds_itself(plan: Plan, forward: Event) -> bool:
    """Whether a call is given what something outside of the script made of its own result."""
    own = {id(value) for value in outputs(forward)}
    return any(
        is_drawn(plan, value)
        and isinstance(value, Opaque)
        and any(
            id(behind) in own
            for item in value.arguments.items
            for behind in walk_back(item.values, lambda v: not isinstance(v, (Instance, Function)))
        )
        for value in given(forward)
    )
