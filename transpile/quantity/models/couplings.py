"""Places in models where the samples of a batch come to depend on each other."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Value
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Plan
from transpile.plan.vocabulary import Layers

from ..algebra import STATISTIC
from ..analysis import Supposing
from ..asking import analysis
from ..domain import Kind


def couplings(plan: Plan) -> Iterator[tuple[Opaque, str]]:
    """The values in models that make one sample depend on others, and how."""
    found = analysis(plan)
    found.settle(tuple(value for backward in plan.backwards for value in backward.loss))
    for value in tuple(found.kept):
        if not isinstance(value, Opaque):
            continue
        if value.kind == "call" and goes_along_samples(found, value):
            yield value, "batch_first is not set, so that the layer takes the samples for time"
        elif value.kind in ("operation", "call") and found.in_model(value):
            if combines(found, value):
                yield value, STATISTIC


def combines(found: Supposing, value: Opaque) -> bool:
    """Whether an operation is the first that combines samples with a number for the whole batch."""
    made = found.transfer_one(value)
    combined = made.reason.startswith(STATISTIC) if made.kind is Kind.UNKNOWN else made.coupled
    if not combined:
        return False
    given = (*value.operands, *(item.values for item in value.arguments.items))
    return not any(one.coupled or one.reason.startswith(STATISTIC) for one in map(found.of, given))


def goes_along_samples(found: Supposing, value: Opaque) -> bool:
    """Whether a call is one of a layer that takes the dimension of the samples for time."""
    first = value.arguments.items[0] if value.arguments.items else None
    if first is None:
        return False
    given = found.of(first.values)
    if given.kind is not Kind.SAMPLE or given.dim != 0 or given.selection:
        return False
    layers = found.vocabulary.layers
    return any(time_comes_first(origin(callee), layers) for callee in value.callee)


def time_comes_first(layer: Value, words: Layers) -> bool:
    """Whether a layer certainly takes its first dimension for time."""
    for name in called_names(layer):
        word = words.word(name)
        if not word or not isinstance(layer, Opaque):
            continue
        if word in words.stacks and layer.arguments.items:
            return any(time_comes_first(one, words) for one in layer.arguments.items[0].values)
        if word in words.along_first and not layer.arguments.unknown_because:
            chosen = layer.arguments.get("batch_first", None)
            return chosen is None or all(one == Constant(False) for one in chosen.values)
    return False
