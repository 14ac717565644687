"""Refuse what gives each worker other batches, or lets no worker tell the others anything.

What:
    Data sets that are told not to keep their order, generators of random numbers that begin
    anywhere, and other backends of Keras are refused.

Why:
    All workers draw every batch, and compute their rows of it: the batches must be the same.

Before:
    dataset = dataset.map(parse, num_parallel_calls=4, deterministic=False)

After:
    dataset = dataset.map(parse, num_parallel_calls=4)

Refuses when:
    always.

Source:
    https://www.tensorflow.org/api_docs/python/tf/data/Options#deterministic
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, only_constant
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.tensorflow._sites import fits, loops_by_hand

CODES = {
    "TF411": "the workers would draw different batches",
    "TF412": "the workers could not tell each other anything",
}
ANYWHERE = frozenset(
    {
        "tensorflow.random.Generator.from_non_deterministic_state", "os.urandom",
        "random.SystemRandom",
    }
)  # fmt: skip
SEEDED = frozenset(
    {"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.SeedSequence",
     "random.Random"}
)  # fmt: skip
DETERMINISM = ("deterministic", "experimental_deterministic", "sloppy")


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place."""
    if not fits(plan) and not loops_by_hand(plan):
        return
    seen: set[int] = set()
    for event in plan.facts.events:
        found = problem(plan, event)
        if found is not None and id(event.node) not in seen:
            seen.add(id(event.node))
            code, why, advice = found
            yield Ruling.refuse(code, event, why, advice)


def problem(plan: Plan, event: Event) -> tuple[str, str, str] | None:
    """What is wrong with something that happens: code, reason and advice."""
    if sets_backend(plan, event) and not is_constant(event.result, "tensorflow"):
        return backend()
    if event.kind == "store" and event.name in DETERMINISM:
        return disorder() if is_constant(event.result, event.name == "sloppy") else None
    if event.kind != "call":
        return None
    for word in DETERMINISM:
        given = event.arguments.keyword(word)
        if given is not None and is_constant(given.values, word == "sloppy"):
            return disorder()
    names = {callee.name for callee in event.callee if isinstance(callee, External)}
    seed = event.arguments.get("seed", 0)
    unseeded = seed is None or seed.values == (Constant(None),)
    if names & ANYWHERE or (names & SEEDED and unseeded and not event.arguments.unknown_because):
        return (
            "TF411",
            "each worker draws other random numbers here, since no seed is given",
            "give it a seed",
        )
    if isinstance(event.node, cst.Call) and "os.environ.setdefault" in names:
        key, value = event.arguments.get("key", 0), event.arguments.get("value", 1)
        if key is not None and value is not None and is_constant(key.values, "KERAS_BACKEND"):
            if not is_constant(value.values, "tensorflow"):
                return backend()
    return None


def sets_backend(plan: Plan, event: Event) -> bool:
    """Whether an event is ``os.environ["KERAS_BACKEND"] = ...``."""
    if event.kind != "store" or External("os.environ") not in event.callee:
        return False
    node = event.node
    for target in node.targets if isinstance(node, cst.Assign) else ():
        node = target.target
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    return isinstance(index, cst.Index) and is_constant(
        plan.facts.values_of(index.value), "KERAS_BACKEND"
    )


def disorder() -> tuple[str, str, str]:
    """What is said of data whose order may change."""
    return (
        "TF411",
        "a data set is told that it need not keep its order, which each worker would change by "
        "itself",
        "leave that out",
    )


def backend() -> tuple[str, str, str]:
    """What is said of another backend."""
    return (
        "TF412",
        "Keras is told to run on another backend than TensorFlow",
        'set KERAS_BACKEND to "tensorflow"',
    )


def is_constant(values: tuple[object, ...], wanted: object) -> bool:
    """Whether values are one constant."""
    constant = only_constant(values)  # type: ignore[arg-type]
    return constant is not None and constant.value == wanted
