"""Which random numbers all processes draw alike, because the script seeds what they come from."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Argument, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.singa._roles import constant_of, methods_of, names_of

#: Functions of ``numpy.random`` and ``random`` that draw nothing.
QUIET = frozenset(
    {"seed", "RandomState", "default_rng", "get_state", "set_state", "getstate", "setstate",
     "Generator", "PCG64", "MT19937", "SeedSequence", "Random"}
)  # fmt: skip
OWN_STATES = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"})
#: Functions that draw from the state of NumPy unless they are given a seed.
SKLEARN = frozenset({"sklearn.model_selection.train_test_split", "sklearn.utils.shuffle"})
#: What differs from process to process, by the first words of a name.
PRIVATE = (
    "time.",
    "datetime.",
    "os.getpid",
    "os.urandom",
    "secrets.",
    "uuid.",
    "random.",
    "numpy.random.",
)
SEEDS = {"numpy": "numpy.random.seed", "random": "random.seed"}
DEVICE_DRAWS = frozenset({"gaussian", "uniform", "bernoulli"})


def same_everywhere(argument: Argument | None) -> bool:
    """Whether a seed is the same in every process."""
    if argument is None or constant_of(argument.values) is None:
        return False
    return not any(
        name.startswith(PRIVATE)
        for value in walk_back(argument.values)
        for name in called_names(value)
    )


def unseeded_draws(plan: Plan) -> Iterator[tuple[Event, str]]:
    """The first place of each kind that draws numbers which differ from process to process."""
    seeded: set[str] = set()
    said: set[str] = set()
    for event in plan.facts.reached_calls:
        for name in names_of(event):
            package = "numpy" if name.startswith("numpy.random.") else name.partition(".")[0]
            if name in SEEDS.values():
                if same_everywhere(first(event)):
                    seeded.add(package)
                else:
                    yield event, f"the seed of `{name}` differs from process to process"
                continue
            if name in OWN_STATES:
                if not same_everywhere(first(event)):
                    yield event, f"`{name}` has no seed that is the same in every process"
                continue
            if name in SKLEARN:
                state = event.arguments.keyword("random_state")
                if "numpy" not in seeded and not same_everywhere(state):
                    yield event, f"`{name}` draws from NumPy, which has no seed"
                continue
            draws = name.startswith(("numpy.random.", "random.")) and (
                name.rpartition(".")[2] not in QUIET
            )
            if draws and package not in seeded and package not in said:
                said.add(package)
                yield event, f"`{name}` draws before `{SEEDS[package]}` was called"


def first(event: Event) -> Argument | None:
    """The first argument of a call, by whatever name."""
    return event.arguments.items[0] if event.arguments.items else None


def device_seed(plan: Plan) -> Event | None:
    """The first call that seeds a device the same in every process."""
    for event in plan.facts.reached_calls:
        for name, _ in methods_of(event):
            if name == "SetRandSeed" and same_everywhere(first(event)):
                found: Event = event
                return found
    return None


def draws_on(event: Event) -> Values:
    """What a call fills with random numbers of a device; empty where it fills nothing."""
    for name, owner in methods_of(event):
        if name in DEVICE_DRAWS:
            drawn: Values = owner
            return drawn
    for name in names_of(event):
        if name in ("singa.tensor.gaussian", "singa.tensor.uniform"):
            argument = event.arguments.get("t", 2)
            return argument.values if argument is not None else ()
        if name == "singa.tensor.bernoulli":
            argument = event.arguments.get("t", 1)
            return argument.values if argument is not None else ()
    return ()
