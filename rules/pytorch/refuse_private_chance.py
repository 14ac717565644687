"""Refuse batches from random number generators that differ from process to process.

What:
    Where the calls of models are split, every rank draws the same batches from the random state
    that all of them share. Generators that the script makes without a seed (NumPy's
    ``default_rng()`` and ``RandomState()``, ``random.Random()``), and numbers of the operating
    system are outside of that state.

Why:
    Each process would draw another batch and compute its rows of that one.

Before:
    rng = numpy.random.default_rng()

After:
    rng = numpy.random.default_rng(0)

Refuses when:
    training depends on such a generator.

Source:
    https://numpy.org/doc/stable/reference/random/generator.html,
    https://docs.python.org/3/library/random.html#random.Random
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Value
from transpile.plan.graph import called_names
from transpile.plan.learning import reached_by_losses
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Ruling

CODES = {"PT356": "batches are drawn from a generator that nothing seeds"}
#: Where batches are shared out, index draws and splits are agreed on one by one.
WAYS = ("calls",)
#: Generators of a script's own, whose first argument is their seed.
GENERATORS = frozenset(
    {"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.SeedSequence",
     "numpy.random.PCG64", "random.Random"}
)  # fmt: skip
#: What differs whatever is seeded.
SYSTEM = ("os.urandom", "secrets.", "random.SystemRandom", "uuid.uuid4")


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each generator."""
    reached = reached_by_losses(plan)
    for event in plan.facts.events:
        if event.kind != "call" or event.detached:
            continue
        for value in event.result:
            if id(value) in reached and differs(value):
                yield Ruling(
                    "PT356",
                    Verdict.REFUSE,
                    event.module,
                    event.node,
                    f"every process would draw other batches: '{called_names(value)[0]}' takes its "
                    "seed from the operating system",
                    "give the generator a seed",
                )
                break


def differs(value: Value) -> bool:
    """Whether a call gives something else in every process."""
    if not isinstance(value, Opaque):
        return False
    for name in called_names(value):
        if name.startswith(SYSTEM):
            return True
        if name in GENERATORS:
            seed = value.arguments.get("seed", 0)
            if seed is None or all(one == Constant(None) for one in seed.values):
                return True
    return False
