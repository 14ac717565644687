"""The sizes of what losses give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from transpile.facts.values import Opaque, Values
from transpile.plan.graph import called_names, origin
from transpile.plan.vocabulary import Loss

from ..losses.settings import settings_of
from .arithmetic import Shape, broadcast

if TYPE_CHECKING:
    from ..analysis import Supposing

#: Losses of classes, of which there is one number for each target.
OF_CLASSES = frozenset({"cross_entropy", "nll_loss"})


def losses_of(analysis: Supposing, value: Opaque) -> Iterator[tuple[Loss, Opaque]]:
    """The losses that a call may compute, each with the call that sets it up."""
    for name in called_names(value):
        if name in analysis.vocabulary.losses:
            yield analysis.vocabulary.losses[name], value
    for callee in value.callee:
        made = origin(callee)
        for name in called_names(made) if isinstance(made, Opaque) else ():
            if name in analysis.vocabulary.loss_classes and isinstance(made, Opaque):
                yield analysis.vocabulary.loss_classes[name], made


def given_by(
    signature: Loss, source: Opaque, value: Opaque, of: Callable[[Values], Shape | None]
) -> Shape | None:
    """The sizes of what a loss gives; of a mean or a sum, none.

    Args:
        signature: the loss.
        source: the call that sets it up.
        value: the call on tensors.
        of: tells the sizes of values.
    """
    settings = settings_of(signature, source.arguments, source is value)
    if settings.reduction is None or source.attributes:
        return None
    if settings.reduction != "none":
        return ()
    shapes = [of(item.values) for item in value.arguments.items[: signature.inputs]]
    if len(shapes) < 2:
        return None
    if signature.function in OF_CLASSES:
        return shapes[1]
    first, second = shapes[:2]
    return broadcast(first, second) if first is not None and second is not None else None
