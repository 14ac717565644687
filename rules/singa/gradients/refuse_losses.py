"""Refuse losses that are no mean over the samples of a batch.

What:
    The loss of every update is followed back to the batch: losses of SINGA are means over the
    samples, and layers and functions that take each sample by itself are known.

Why:
    A ``DistOpt`` takes the mean of the gradients of all processes. That is the gradient of the
    whole batch where the loss is a mean over its samples, and nothing else.

Before:
    out = self.forward(x)
    loss = autograd.reduce_sum(autograd.abs(autograd.sub(out, y)), axes=[0, 1])

After:
    out = self.forward(x)
    loss = autograd.mse_loss(out, y)

Refuses when:
    a loss adds samples up, couples them, or comes from an operation of which that is not known.

Source:
    https://singa.apache.org/docs/autograd/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Values
from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.singa._roles import backwards, updates
from transpile.rules.singa.gradients._shares import MEAN, ROWS, held
from transpile.rules.singa.processes._own_path import own_path

CODES = {
    "SG211": "the loss is not known to be a mean over the samples of a batch",
    "SG212": "the loss of a script with a path for several processes is not known to be a mean",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal for each loss of which nothing is known."""
    seen: set[int] = set()
    for event, loss in losses(plan):
        why = obstacle(plan, loss)
        if not why or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        prepared = own_path(plan) is not None
        yield Remark(
            "SG212" if prepared else "SG211",
            Level.WARNING if prepared else Level.ERROR,
            event.module,
            event.node,
            f"it cannot be shown that this loss is a mean over the samples of a batch, which the "
            f"processes average: {why}",
            "take a loss of SINGA on layers that look at each sample by itself",
        )


def losses(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The losses of all updates, each with where they are followed from."""
    for update in updates(plan):
        if update.loss:
            yield update.event, update.loss
    for event in backwards(plan):
        first = event.arguments.get("y", 0)
        yield event, first.values if first is not None else ()


def obstacle(plan: Plan, loss: Values) -> str:
    """Why a loss is not known to be a mean over the samples; empty where it is."""
    kind = held(plan, loss)
    if kind.why or kind.word == MEAN:
        return str(kind.why)
    if kind.word == ROWS:
        return "it has a value for each sample, whose gradients add up"
    return "it does not depend on a batch that is copied to the device"
