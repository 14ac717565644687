"""Let the workers share each batch that Keras trains on.

What:
    What ``fit``, ``train_on_batch`` or ``train_step`` is called on goes through a helper. Every
    worker draws the same batches; in training, each computes its rows of a call of the model, and
    gets the outputs of all. Loss, metrics, the optimizer's step and callbacks stay what they are,
    on whole batches, in a ``train_step`` of the script's own, too. Batch normalization sees the
    whole batch.

Why:
    Gradients and numbers are those of one process, whatever the loss is and however many samples
    the last batch holds. Keras 2 and Keras 3 both train that way.

Before:
    model.fit(images, labels, batch_size=64)

After:
    split_fit(model).fit(images, labels, batch_size=64)

Refuses when:
    what is trained cannot be named at the call, as in ``super().fit(...)`` alone.

Source:
    https://keras.io/api/models/model_training_apis/#fit-method
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Super
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.tensorflow._names import FIT_METHODS
from transpile.rules.tensorflow._sites import fits, receivers_of

CODES = {
    "TF201": "the workers share each batch that Keras trains on",
    "TF202": "it is not known what trains here",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that trains."""
    for event in fits(plan):
        call = event.node
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        if any(isinstance(value, Super) for value in receivers_of(event, FIT_METHODS) or ()):
            yield Ruling.refuse(
                "TF202",
                (event.module, call),
                "a model overrides fit() and calls that of its class",
                "call fit() of the model, and put what else is to happen into a callback",
            )
            continue
        made = call.func.value
        done = isinstance(made, cst.Call) and is_helper(made.func)
        yield Ruling.apply(
            "TF201",
            (event.module, call),
            "each worker computes its rows of every batch",
            data=made,
            claims=(call,),
            done=done,
        )


def is_helper(function: cst.BaseExpression) -> bool:
    """Whether a call goes through the helper already."""
    return isinstance(function, cst.Name) and function.value.startswith("split_fit")


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what trains."""
    yield Helper("split_fit", ruling.module)
    name = plan.names_in(ruling.module).fresh("split_fit")
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
