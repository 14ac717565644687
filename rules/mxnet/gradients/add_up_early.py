"""Add gradients up over the workers before the script reads them.

What:
    Where gradients are clipped, or read in another way, between the backward pass and the step of
    a trainer, the workers add them up first, and the step does no more than update.

Why:
    Within a step the workers add gradients up and update at once. What is read before that is of
    one worker's share: the norm that gradients are clipped by would be another on each.

Before:
    loss.backward()
    grads = [param.grad() for param in params.values()]
    gluon.utils.clip_global_norm(grads, 1.0)
    trainer.step(1)

After:
    loss.backward()
    add_up_gradients(trainer, average=True)
    grads = [param.grad() for param in params.values()]
    gluon.utils.clip_global_norm(grads, 1.0)
    step_alone(trainer)(1)

Refuses when:
    gradients are read elsewhere than right before the step, or servers update the parameters.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/trainer.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before, replace_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.gradients._early_sums import early_sum
from transpile.rules.mxnet.gradients.scale_step import backwards_of, is_averaged, latest

CODES = {"MX321": "the workers add gradients up before they are read"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step behind which gradients are read."""
    seen: set[int] = set()
    for update in updates(plan):
        place = early_sum(plan, update)
        if place is None or id(place.step) in seen:
            continue
        seen.add(id(place.step))
        average = is_averaged(plan, latest(plan, update, backwards_of(plan, update)))
        yield Ruling.apply(
            "MX321",
            (place.module, place.before),
            "the workers add gradients up before they are read",
            data=(place, average),
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The sum before the gradients are read, and the step without it."""
    place, average = ruling.data
    names = plan.names_in(place.module)
    source = place.module.source
    trainer = source.code(place.trainer)
    yield Helper("add_up_gradients", place.module)
    yield Helper("step_alone", place.module)
    given = f"{trainer}, average=True" if average else trainer
    line = f"{names.fresh('add_up_gradients')}({given})"
    for edit in insert_before(source, place.before, [line]):
        yield In(place.module, edit)
    text = f"{names.fresh('step_alone')}({trainer})"
    for edit in replace_expression(source, place.step.func, text):
        yield In(place.module, edit)
