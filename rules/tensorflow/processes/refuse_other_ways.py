"""Refuse what trains without Keras and without a gradient tape.

What:
    Sessions of TensorFlow 1, estimators, ``minimize`` of a function, and searches of other
    libraries are refused, with the reason.

Why:
    No call of a model is in sight there whose rows the workers could share. Left as they are, all
    workers would train the same model by themselves.

Before:
    with tf.compat.v1.Session() as session:
        session.run(train_op)

After:
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images))

Refuses when:
    always.

Source:
    https://www.tensorflow.org/guide/migrate
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.tensorflow._other_ways import other_ways

CODES = {"TF901": "it trains in a way that is not converted"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place."""
    seen: set[int] = set()
    for event, why, advice in other_ways(plan):
        if id(event.node) not in seen:
            seen.add(id(event.node))
            yield Ruling.refuse("TF901", event, why, advice, claims=(event.node,), decisive=True)
