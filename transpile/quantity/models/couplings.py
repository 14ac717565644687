"""Places in models where the samples of a batch come to depend on each other."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Value
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.vocabulary import Layers

from ..algebra import STATISTIC
from ..analysis import Supposing
from ..asking import analysis
from ..domain import Kind, Quantity


def couplings(plan: Plan) -> Iterator[tuple[Opaque, str]]:
    """The values in models that make one sample depend on others, and how."""
    found = analysis(plan)
    found.settle(tuple(value for backward in plan.backwards for value in backward.loss))
    told = _told(plan)
    for value in tuple(found.kept):
        if not isinstance(value, Opaque):
            continue
        how = told.get(id(value))
        if how is None:
            how, is_final = coupling(found, value)
            if is_final:
                told[id(value)] = how
        if how:
            yield value, how


@query
def _told(plan: Plan) -> dict[int, str]:
    """How values make samples depend on others, by their identity; empty where they do not.

    It grows with the values that are settled: all are asked about for each place that mixes
    samples.
    """
    return {}


def coupling(found: Supposing, value: Opaque) -> tuple[str, bool]:
    """How a value makes one sample depend on others, empty if not; and whether that is final.

    It is not as long as something that the value is made of is not settled.
    """
    if value.kind == "call" and goes_along_samples(found, value):
        return "batch_first is not set, so that the layer takes the samples for time", True
    if value.kind not in ("operation", "call") or not found.in_model(value):
        return "", True
    found.looked_ahead = False
    made = found.transfer_one(value)
    is_final = not found.looked_ahead
    return STATISTIC if combines(found, value, made) else "", is_final


def combines(found: Supposing, value: Opaque, made: Quantity) -> bool:
    """Whether an operation is the first that combines samples with a number for the whole batch.

    Args:
        found: the analysis.
        value: what the operation gives.
        made: what it is of the batch, before it is seen in its surroundings.
    """
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
