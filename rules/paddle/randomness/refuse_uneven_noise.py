"""Refuse random changes of parameters or averaged gradients in training.

What:
    A change of a trained model's parameters or gradients by random numbers, once the model is
    wrapped, is an error.

Why:
    In training every process draws random numbers of its own, and gradients are averaged within the
    backward pass. What changes parameters or gradients afterwards must be equal on all processes,
    or each goes on with a model of its own, which nobody notices.

Before:
    for p in model.parameters():
        p.grad.add_(0.01 * paddle.randn(p.shape))

After:
    for p, noise in zip(model.parameters(), shared_noise):
        p.grad.add_(noise)

Refuses when:
    random numbers change parameters or gradients where the model is trained.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.plan.models.noise import uneven_noise
from transpile.rule import Answer, Ruling

CODES = {"PD407": "random numbers change parameters or gradients in training"}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that changes parameters or gradients by random numbers."""
    for event in uneven_noise(plan):
        yield Ruling.refuse(
            "PD407",
            event,
            "random numbers change parameters or averaged gradients here, and each process draws "
            "its own: their models would diverge",
            "make the noise on one process and broadcast it",
        )
