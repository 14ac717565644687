"""Warn of random numbers that are seeded with what a share of the batch gives.

What:
    Where batches are shared out, a generator that is seeded with a number made of the batch, such
    as ``torch.manual_seed(int(x.sum()))``, is warned of.

Why:
    Every process makes the seed of its own share. What is drawn next differs between them, and is
    on none what a single process would draw.

Before:
    torch.manual_seed(int(x.sum()))

After:
    torch.manual_seed(step)

Refuses when:
    never: where the calls of models are split, every process makes the seed of the whole batch.

Source:
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, Values
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, quantity
from transpile.rule import Answer, Remark
from transpile.rules.pytorch.randomness._seeds import SEEDS

CODES = {"PT743": "random numbers are seeded with what a share of the batch gives"}
WAYS = ("data",)
SEEDING = frozenset[str]().union(*SEEDS.values()) | {"torch.cuda.manual_seed_all"}
#: What makes a generator from a seed.
GENERATORS = frozenset(
    {
        "random.Random", "numpy.random.default_rng", "numpy.random.RandomState",
        "numpy.random.SeedSequence", "torch.Generator",
    }
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One remark for each call that seeds with a number of the share."""
    for event in plan.facts.reached_calls:
        if any(of_share(plan, values) for values in seeds_given(event)):
            yield Remark.warn(
                "PT743",
                event,
                "the seed is made of one process's share of the batch, and so are the numbers that "
                "are drawn with it",
                "seed with a number that does not depend on the batch, or use --shard calls",
            )


def seeds_given(event: Event) -> list[Values]:
    """What a call seeds with; nothing where it seeds nothing."""
    made = GENERATORS | SEEDING
    seeds = any(isinstance(one, External) and one.name in made for one in event.callee)
    for value in event.result:
        for method, receivers in method_calls(value):
            if method in ("manual_seed", "seed"):
                seeds |= any(GENERATORS & set(called_names(one)) for one in receivers)
    return [item.values for item in event.arguments.items] if seeds else []


def of_share(plan: Plan, values: Values) -> bool:
    """Whether a number is another one for the share of a batch."""
    found = quantity(plan, values)
    if found.kind is Kind.UNKNOWN:
        return bool(found.sampled or found.whole)
    counts = found.kind is Kind.EQUAL and bool(found.degrees - {0})
    return counts or found.kind not in (Kind.EQUAL, Kind.NOTHING)
