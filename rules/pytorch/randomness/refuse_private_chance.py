"""Refuse batches from random number generators that differ from process to process.

What:
    Where the calls of models are split, every rank draws the same batches from the random state
    that all of them share. Generators that the script makes without a seed (NumPy's
    ``default_rng()`` and ``RandomState()``, ``random.Random()``) or seeds by the clock, and numbers
    of the operating system are outside of that state.

Why:
    Each process would draw another batch and compute its rows of that one.

Before:
    rng = numpy.random.default_rng()

After:
    rng = numpy.random.default_rng(0)

Refuses when:
    training depends on such a generator, but for what rank 0 draws with ``--batches broadcast``.

Source:
    https://numpy.org/doc/stable/reference/random/generator.html,
    https://docs.python.org/3/library/random.html#random.Random
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.plan.flow.entering import set_up_of
from transpile.plan.graph import called_names, given_by, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch.agreement._decisions import Decisions
from transpile.rules.pytorch.data._handed_out import handed_out
from transpile.rules.pytorch.randomness._private_chance import GENERATORS, differs, is_chance
from transpile.rules.pytorch.randomness._seeds import CHANCE, seeds_everything
from transpile.rules.pytorch.randomness._steered import is_entered, steered_by

CODES = {"PT356": "batches are drawn from a generator that nothing seeds"}
#: Where batches are sharded, index draws and splits are agreed on one by one.
WAYS = ("calls",)
#: What seeds a generator with what it is given, or with a number of the operating system.
RESEEDING = frozenset({"random.seed", "numpy.random.seed", "torch.manual_seed",
                       "torch.random.manual_seed"})  # fmt: skip
#: What seeds a generator with a number of the operating system.
ALWAYS = frozenset({"torch.seed", "torch.random.seed"})
#: Generators that are seeded later on.
OBJECTS = GENERATORS | {"torch.Generator"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each generator."""
    given = handed_out(plan)
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    reached = {
        id(value)
        for value in walk_back(losses, lambda v: is_entered(v) and id(v) not in given.values)
    }
    if any(differs(value) for event in plan.facts.calls for value in event.result):
        agreed = frozenset(id(decision.test) for decision in Decisions(plan).collect())
        reached = steered_by(plan, reached, agreed, given)
    for event in plan.facts.reached_calls:
        name = reseeds(plan, event, reached)
        if name:
            yield refusal(event, name)
            continue
        for value in event.result:
            if id(value) in reached and differs(value):
                yield refusal(event, called_names(value)[0])
                break


def refusal(event: Event, name: str) -> Ruling:
    """What is said of one generator."""
    return Ruling.refuse(
        "PT356",
        event,
        f"every process would draw other batches: '{name}' takes its seed from the operating "
        "system",
        "give the generator a seed, or let rank 0 draw what a for loop takes (--batches broadcast)",
    )


def reseeds(plan: Plan, event: Event, reached: set[int]) -> str:
    """What seeds a generator anew, with another number in every process; empty where nothing."""
    for callee in event.callee:
        name = callee.name if isinstance(callee, External) else ""
        if name in ALWAYS or (name in RESEEDING and by_chance_alone(event)):
            return name if stays_private(plan, event) else ""
    for value in event.result:
        for method, receiver in method_calls(value):
            made = [one for one in receiver if OBJECTS & {*called_names(one)}]
            if method in ("seed", "manual_seed") and by_chance_alone(event):
                if any(id(one) in reached for one in made):
                    return f"{called_names(made[0])[0]}.{method}"
    return ""


def by_chance_alone(event: Event) -> bool:
    """Whether a call is given nothing, or what differs between processes by chance."""
    items = event.arguments.items
    return not items or any(is_chance(one.values) for one in items)


def stays_private(plan: Plan, event: Event) -> bool:
    """Whether rank 0 does not hand its random state to all after a seed by chance."""
    set_up = set_up_of(plan)
    if seeds_everything(plan) or set_up is None:
        return True
    if set_up.after(event):
        return False
    return plan.in_training(event.stack) or not given_by(event, CHANCE)
