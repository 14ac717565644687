"""Layers that go along the samples because these stand along another axis than the layers take."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque
from transpile.plan.vocabulary import Layers

from ..domain import Kind, Quantity
from .chains import is_time_first


def goes_along(layers: Layers, word: str, made: Opaque, given: list[Quantity]) -> bool:
    """Whether a layer goes along the samples of something that it is given, or may do so.

    Args:
        layers: what is known of layers.
        word: the word of the layer.
        made: the layer.
        given: what it is given.
    """
    moved = [one for one in given if one.kind is Kind.SAMPLE and one.dim != 0]
    if not moved:
        return False
    when = layers.time_first.get(word)
    if when is not None and given[0] in moved:
        # Behind the time stand the samples of a sequence, and behind these its features.
        return given[0].dim != 1 or not is_time_first(made, when)
    if word in layers.samples_first and not keeps_axes(made):
        return True
    return word in layers.contracting and any(one.may_count_along(-1) for one in moved)


def keeps_axes(made: Opaque) -> bool:
    """Whether a layer is told to leave all axes but the last alone: ``flatten=False``."""
    chosen = made.arguments.keyword("flatten")
    return chosen is not None and chosen.values == (Constant(False),)
