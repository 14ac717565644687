"""Warn of environments that nothing seeds where all processes have to play the same game.

What:
    Where the calls of models are split, every rank acts in an environment of its own, and what an
    agent trains on has to be the same on all ranks. Environments of Gym, Gymnasium and their like
    that are not seeded, and samples of their action spaces, which have a generator of their own,
    are warned of.

Why:
    Each process would play another game. The first batches are compared over the ranks, so the job
    would stop at its first update.

Before:
    env = gymnasium.make("CartPole-v1")
    state, _ = env.reset()
    action = env.action_space.sample()

After:
    env = gymnasium.make("CartPole-v1")
    state, _ = env.reset(seed=0)
    env.action_space.seed(0)
    action = env.action_space.sample()

Refuses when:
    never: an environment may hold nothing that is drawn.

Source:
    https://gymnasium.farama.org/api/env/#gymnasium.Env.reset,
    https://gymnasium.farama.org/api/spaces/#gymnasium.spaces.Space.seed
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Branch, Event
from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.data._cuts.batch_sources import ENVIRONMENTS
from transpile.rules.pytorch.randomness._private_chance import is_chance
from transpile.rules.pytorch.randomness._steered import is_entered, steered_by

CODES = {"PT359": "an environment that nothing seeds is another one in each process"}
WAYS = ("calls",)
#: What environments are given as a seed where they are made.
SEEDS = frozenset({"seed", "random", "rand_seed", "random_state"})
SPACES = frozenset({"action_space", "observation_space", "single_action_space"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One remark for the environments, one for what their spaces draw."""
    made = [event for event in plan.facts.reached_calls if any(map(is_made, event.result))]
    if not made:
        return
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    trained = steered_by(plan, {id(value) for value in walk_back(losses, is_entered)})
    environments = {
        id(value) for event in made for value in event.result if is_made(value)
    } & reached_from(trained, plan)
    first = next(
        (event for event in made if any(id(one) in environments for one in event.result)), None
    )
    if first is not None:
        yield from unseeded(
            first, "the environment", "env.reset(seed=...)", seeds(plan, environments)
        )
    samples = [
        (event, spaces)
        for event in plan.facts.reached_calls
        for value in event.result
        if id(value) in trained
        for method, spaces in method_calls(value)
        if method == "sample" and any(is_space(one, environments) for one in spaces)
    ]
    if samples:
        yield from unseeded(
            samples[0][0],
            "the space that this is drawn from",
            "env.action_space.seed(...)",
            [
                event
                for event in plan.facts.reached_calls
                for value in event.result
                for method, receiver in method_calls(value)
                if method == "seed" and any(is_space(one, environments) for one in receiver)
                if is_given(event.arguments.get("seed", 0))
            ],
        )


def reached_from(trained: set[int], plan: Plan) -> set[int]:
    """The identities of what is trained on, and of what the calls that give it are made on."""
    found = set(trained)
    for event in plan.facts.reached_calls:
        if any(id(value) in trained for value in event.result):
            found.update(id(value) for value in walk_back(event.result))
    return found


def unseeded(event: Event, what: str, how: str, seeding: list[Event]) -> Iterator[Answer]:
    """What is said where nothing seeds, or where only a branch does."""
    if any(not any(isinstance(one, Branch) for one in each.stack) for each in seeding):
        return
    if seeding:
        yield Remark.note(
            "PT359",
            event,
            f"{what} is seeded under a condition alone: where it does not hold, every process "
            "plays another game, and the job stops at its first update",
        )
        return
    yield Remark.warn(
        "PT359",
        event,
        f"nothing seeds {what}: every process would play another game, and the job would stop at "
        "its first update",
        f"seed it ({how})",
    )


def seeds(plan: Plan, environments: set[int]) -> list[Event]:
    """The calls that seed environments."""
    return [
        event
        for event in plan.facts.reached_calls
        for value in event.result
        for method, receiver in method_calls(value)
        if method in ("seed", "reset") and is_played(receiver, environments)
        if is_given(event.arguments.get("seed", 0 if method == "seed" else None))
    ]


def is_given(seed: object) -> bool:
    """Whether a seed is given that is the same in each process."""
    values: Values = getattr(seed, "values", ())
    return any(one != Constant(None) for one in values) and not is_chance(values)


def is_made(value: Value) -> bool:
    """Whether a value is what a library of environments makes of none, and without a seed."""
    if not is_from_library(value):
        return False
    assert isinstance(value, Opaque)
    given = {item.keyword: item for item in value.arguments.items}
    if any(is_given(given[word]) for word in SEEDS & given.keys()):
        return False
    inside = (one for item in value.arguments.items for one in item.values)
    return not any(is_from_library(one) for one in walk_back(tuple(inside)))


def is_from_library(value: Value) -> bool:
    """Whether a library of environments makes a value."""
    return isinstance(value, Opaque) and any(
        name.startswith(ENVIRONMENTS) for name in called_names(value)
    )


def is_played(values: Values, environments: set[int]) -> bool:
    """Whether values are environments, or wrappers around them, and none of their spaces."""
    return any(
        id(found) in environments for found in walk_back(values, lambda value: not has_name(value))
    )


def is_space(value: Value, environments: set[int]) -> bool:
    """Whether a value is a space of an environment."""
    return has_name(value) and any(id(found) in environments for found in walk_back((value,)))


def has_name(value: Value) -> bool:
    """Whether a value is an attribute that holds a space."""
    return isinstance(value, Opaque) and value.kind == "attribute" and value.name in SPACES
