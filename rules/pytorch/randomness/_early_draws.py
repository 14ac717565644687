"""Random numbers that data, weights and losses are made of, drawn before anything seeds them."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Branch, Event
from transpile.facts.values import Constant, External, Opaque, Values
from transpile.plan.flow.places import site_at, statement_in
from transpile.plan.flow.start import training_events
from transpile.plan.graph import given_by
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.query import query
from transpile.rules.pytorch.data._data import Data, spread
from transpile.rules.pytorch.randomness._seeds import CHANCE, SEEDS, calls_of_seeding

#: Functions that draw from the random state of the process, to the source of its numbers.
DRAWS = (
    ("torch.rand", "torch"),
    ("torch.normal", "torch"),
    ("torch.bernoulli", "torch"),
    ("torch.multinomial", "torch"),
    ("torch.poisson", "torch"),
    ("torch.utils.data.random_split", "torch"),
    ("numpy.random.", "numpy"),
    ("sklearn.datasets.make_", "numpy"),
    ("sklearn.model_selection.train_test_split", "numpy"),
    ("sklearn.utils.shuffle", "numpy"),
    ("random.", "random"),
)
#: What begins like one and draws nothing from the process's state.
NO_DRAWS = (
    "torch.random.", "numpy.random.seed", "numpy.random.set_state", "numpy.random.get_state",
    "numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator",
    "numpy.random.PCG64", "numpy.random.SeedSequence", "random.seed", "random.setstate",
    "random.getstate", "random.Random", "random.SystemRandom",
)  # fmt: skip
GIVEN_SEEDS = ("generator", "random_state")


@query
def early_draws(plan: Plan) -> list[Event]:
    """The draws of data, weights and losses before all else of the training, without a seed."""
    return list(find_early_draws(plan))


def movable_draws(plan: Plan) -> list[Event]:
    """Those of the script's own text: the processes can join in front of them."""
    tree = plan.entry.source.tree
    found = []
    for event in early_draws(plan):
        site = site_at(event, 0)
        if site is not None and statement_in(plan.entry, tree, site) is not None:
            found.append(event)
    return found


def find_early_draws(plan: Plan) -> Iterator[Event]:
    """See :func:`early_draws`."""
    begun = min((event.order for event in training_events(plan)), default=0)
    candidates = [
        (event, source)
        for event in plan.facts.events[:begun]
        if event.kind == "call" and not event.detached
        for source in (source_of(plan, event),)
        if source is not None
    ]
    if not candidates:
        return
    data, learnt = Data(plan), reached_by_losses(plan)
    seeded = {
        source: min((event.order for event in unconditional(plan, names)), default=begun)
        for source, names in SEEDS.items()
    }
    for event, source in candidates:
        touched = drawn(event)
        filled = (*touched, *spread(touched))
        if event.order < seeded[source] and (
            data.holds(filled) or any(id(value) in learnt for value in touched)
        ):
            yield event


def source_of(plan: Plan, event: Event) -> str | None:
    """Where a call takes its random numbers from; None where it draws none, or has a seed."""
    for callee in event.callee:
        if isinstance(callee, External) and not callee.name.startswith(NO_DRAWS):
            for prefix, source in DRAWS:
                if callee.name.startswith(prefix):
                    return None if has_seed(event) else source
            if callee.name.startswith("torch.nn.init."):
                return "torch"
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in plan.table.filling_methods:
                return None if has_seed(event) else "torch"
    return None


def has_seed(event: Event) -> bool:
    """Whether a draw is given a seed or a generator."""
    given = [event.arguments.get(name) for name in GIVEN_SEEDS]
    return any(
        argument is not None and any(value != Constant(None) for value in argument.values)
        for argument in given
    )


def drawn(event: Event) -> Values:
    """What a draw gives or fills."""
    found = list(event.result)
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            found.extend(callee.operands[0])
    for argument in event.arguments.items[:1]:
        found.extend(argument.values)
    return tuple(found)


def unconditional(plan: Plan, names: frozenset[str]) -> Iterator[Event]:
    """The calls of seeding functions that always happen, with the same seed everywhere."""
    for event in calls_of_seeding(plan, *names):
        if not given_by(event, CHANCE) and not any(
            isinstance(frame, Branch) for frame in event.stack
        ):
            yield event
