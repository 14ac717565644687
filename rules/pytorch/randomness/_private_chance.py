"""Which random numbers are each process's own: no random state that processes share holds them."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back

#: Generators of a script's own, whose first argument is their seed.
GENERATORS = frozenset(
    {"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.SeedSequence",
     "numpy.random.PCG64", "random.Random"}
)  # fmt: skip
#: What differs whatever is seeded.
SYSTEM = ("os.urandom", "secrets.", "random.SystemRandom", "uuid.uuid1", "uuid.uuid4")
#: What gives another seed in every process.
CLOCKS = ("time.", "datetime.", "os.getpid", "os.urandom", "secrets.", "uuid.",
          "random.SystemRandom", "torch.seed")  # fmt: skip


def differs(value: Value) -> bool:
    """Whether a call gives something else in every process."""
    if not isinstance(value, Opaque):
        return False
    for name in called_names(value):
        if name.startswith(SYSTEM):
            return True
        if name in GENERATORS:
            seed = value.arguments.get("seed", 0) or value.arguments.get("x", 0)
            if seed is None or all(one == Constant(None) for one in seed.values):
                return True
            return is_chance(seed.values)
    return False


def is_chance(values: Values) -> bool:
    """Whether a seed comes from the clock, the process or the operating system."""
    return any(
        name.startswith(CLOCKS) for value in walk_back(values) for name in called_names(value)
    )
