"""Random numbers that a script draws from generators of its own, which all workers seed alike."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Sequence, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.domain import Kind
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.data._draws import BEFORE_SHAPE
from transpile.rules.mxnet.losses._losses import shares

#: What makes a generator of a seed.
GENERATORS = frozenset(
    {"numpy.random.RandomState", "numpy.random.default_rng", "numpy.random.Generator"}
)
#: Methods of it that take the lengths of the axes one by one.
BY_AXIS = frozenset({"rand", "randn"})
#: Methods that give no numbers of a shape.
OTHERS = frozenset({"seed", "shuffle", "permutation", "permuted", "choice", "get_state"})


def drawn_size(event: Event) -> Values:
    """The length of the first axis, or the whole shape, of what a seeded generator draws."""
    for callee in event.callee:
        if not isinstance(callee, Opaque) or callee.kind != "attribute" or callee.name in OTHERS:
            continue
        if not any(map(is_seeded, callee.operands[0])):
            continue
        if callee.name in BY_AXIS:
            first = event.arguments.get("", 0)
        else:
            first = event.arguments.get("size", BEFORE_SHAPE.get(callee.name, 2))
        values = first.values if first is not None else ()
        if len(values) == 1 and isinstance(values[0], Sequence):
            elements = values[0].elements
            return elements[0] if elements else ()
        return values
    return ()


def is_seeded(value: object) -> bool:
    """Whether a value is a generator of a seed that all workers have."""
    if not isinstance(value, Opaque) or GENERATORS.isdisjoint(called_names(value)):
        return False
    return bool(value.arguments.items)


@query
def same_noise(plan: Plan) -> list[Event]:
    """The calls in training steps by which all workers draw the same numbers for their shares."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    behind = {id(value) for value in walk_back(losses)} if loops else set()
    return [
        event
        for event in plan.facts.reached_calls
        if not event.detached
        if any(id(loop.node) in loops for loop in event.loops())
        if any(id(value) in behind for value in event.result)
        if follows_share(plan, drawn_size(event))
    ]


def follows_share(plan: Plan, size: Values) -> bool:
    """Whether a size is that of a worker's share of a batch."""
    found = shares(plan).of(size) if size else None
    if found is None:
        return False
    return found.kind is Kind.SHAPE or (found.kind is Kind.EQUAL and found.degree == 1)
