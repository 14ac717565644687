"""Refuse random changes of parameters or averaged gradients in training.

What:
    A change of a trained model's parameters or gradients by random numbers, inside the loops of
    training, is an error, unless the numbers come from a generator that is given. So is drawing
    the parameters of a wrapped model anew between two trainings, as cross-validation does.

Why:
    In training every process draws random numbers of its own, and gradients are averaged within the
    backward pass. What changes parameters or gradients afterwards must be equal on all processes,
    or each goes on with a model of its own, which nobody notices.

Before:
    for p in model.parameters():
        p.grad.add_(0.01 * $own_noise)

After:
    $with_shared_noise

Refuses when:
    random numbers change parameters or gradients where the model is trained, or layers that are
    wrapped already are initialised again.

Source:
    $wrap_source
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.backend import Backend
from transpile.plan.model import Plan
from transpile.plan.models.noise import uneven_noise
from transpile.rule import Ruling

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"407": "random numbers change parameters or gradients in training"}


def decide(backend: Backend, plan: Plan) -> Iterator[Ruling]:
    """One refusal for each place that changes parameters or gradients by random numbers."""
    for event in uneven_noise(plan):
        yield Ruling.refuse(
            f"{backend.prefix}407",
            event,
            "random numbers change parameters or averaged gradients here, and each process draws "
            "its own: their models would diverge",
            backend.shared_noise,
        )
