"""Draw the splits of the data once for all processes.

What:
    Where each process would draw a split, or an order of the samples, for itself, all take that of
    rank 0: behind the place where the processes get random numbers of their own, from generators
    without a seed, and from sources that share no seed.

Why:
    With splits of their own, one process trains on what another tests on.

Before:
    train, test = train_test_split(samples)

After:
    train, test = from_main_process(train_test_split(samples))

Refuses when:
    the split is drawn before the processes know each other, or is no list of numbers that could be
    sent: a split of a data set, or a shuffle in place.

Source:
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Mapping, Opaque, Sequence, Value, Values
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._data import Data, agreed_nodes, calls
from transpile.rules.pytorch._random_draws import Draws, own_generator

CODES = {"PT733": "a split is drawn once for all processes"}
SPLITS = {
    "torch.utils.data.random_split": "torch",
    "torch.randperm": "torch",
    "numpy.random.permutation": "numpy",
    "numpy.random.choice": "numpy",
    "numpy.random.shuffle": "numpy",
    "random.shuffle": "random",
    "random.sample": "random",
    "sklearn.model_selection.train_test_split": "numpy",
}
#: Those whose result is a number, an array or a list.
SENDABLE = frozenset(
    {
        "torch.randperm", "numpy.random.permutation", "numpy.random.choice", "random.sample",
        "sklearn.model_selection.train_test_split",
    }
)  # fmt: skip
IN_PLACE = frozenset({"numpy.random.shuffle", "random.shuffle"})
DRAWING_METHODS = frozenset({"permutation", "shuffle", "choice", "sample", "permuted"})


@dataclass(frozen=True, eq=False)
class Draw:
    """An expression that rank 0 evaluates for all."""

    module: Module
    node: cst.BaseExpression


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each split that each process would draw for itself."""
    if any(not backward.event.detached for backward in plan.backwards):
        yield from splits(plan, Data(plan), Draws(plan))


def splits(plan: Plan, data: Data, draws: Draws) -> Iterator[Answer]:
    """Splits and orders that each process would draw for itself."""
    for event in calls(plan):
        node = event.node
        source = source_of(event)
        if source is None or not isinstance(node, cst.Call):
            continue
        name = next((c.name for c in event.callee if isinstance(c, External)), "")
        touched = event.arguments.items[0].values if name in IN_PLACE else event.result
        if not data.holds(touched) and not data.holds(spread(touched)):
            continue
        if source != "own" and (draws.equal(event, source) or has_seed(event)):
            continue
        if id(node) in agreed_nodes(plan):
            yield Ruling(
                "PT733",
                Verdict.ALREADY_DONE,
                event.module,
                node,
                "all processes take the same split",
            )
        elif draws.joined_before(event) and sendable(event, name):
            yield Ruling(
                "PT733",
                Verdict.APPLY,
                event.module,
                node,
                "each process would draw this for itself",
                data=Draw(event.module, node),
            )
        else:
            yield Ruling(
                "PT733",
                Verdict.REFUSE,
                event.module,
                node,
                "each process draws this for itself, so that one trains on what another tests on",
                "seed the random numbers just before, or give a seed to this call",
            )


def source_of(event: Event) -> str | None:
    """Where a split takes its random numbers from; None for other calls."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in SPLITS:
            return SPLITS[callee.name]
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in DRAWING_METHODS and any(
                own_generator(value) for value in callee.operands[0]
            ):
                return "own"
    return None


def has_seed(event: Event) -> bool:
    """Whether a split is given a seed or a generator."""
    for name in ("generator", "random_state"):
        argument = event.arguments.get(name)
        if argument is not None and any(v != Constant(None) for v in argument.values):
            return True
    return False


def spread(values: Values) -> Values:
    """The elements of sequences, and what is unpacked of opaque results."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Sequence):
            found.extend(value.every())
        elif isinstance(value, Mapping):
            found.extend(value.every())
    return tuple(found)


def sendable(event: Event, name: str) -> bool:
    """Whether the result of a draw can be taken from rank 0."""
    if name:
        return name in SENDABLE
    return any(isinstance(callee, Opaque) and callee.name != "shuffle" for callee in event.callee)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The draw within the helper."""
    data: Draw = ruling.data
    yield Helper("from_main_process", data.module)
    name = plan.names_in(data.module).fresh("from_main_process")
    for edit in wrap_expression(data.module.source, data.node, f"{name}(", ")"):
        yield In(data.module, edit)
