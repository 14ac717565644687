"""Let the workers share each batch of a loop that takes gradients itself.

What:
    A model that a ``tf.GradientTape`` records is called through a helper: each worker computes its
    rows, and gets the outputs of all. The gradients that the tape gives are those of the whole
    batch on every worker, so the rest of the loop stays as it is: loss, clipping, metrics,
    several models, ``tf.function``. What is differentiated twice is computed whole by every worker.

Why:
    A plain mean in a replica function is wrong (42 % off), and a mean over a constant global batch
    is wrong in a short last batch. Here no loss has to be written anew.

Before:
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)

After:
    with tf.GradientTape() as tape:
        predictions = split_calls(model)(images, training=True)

Refuses when:
    no call of a Keras model is recorded, so that there is nothing to shard; or only under two
    tapes, where gradients are differentiated again.

Source:
    https://www.tensorflow.org/guide/basic_training_loops
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.tensorflow._sites import (
    called,
    fits,
    in_helper,
    inside_model,
    is_model,
    is_taken_twice,
    loops_by_hand,
    taped_calls,
)

CODES = {
    "TF301": "the workers share each batch that a tape records",
    "TF302": "no call of a model can be sharded",
    "TF303": "a call that is differentiated twice is computed whole by every worker",
}

NOTHING_LEFT = (
    "every call of a model here is differentiated twice, and so computed whole by every worker: "
    "nothing is left that the workers could share",
    "call the model for the loss once more, outside of the inner tape, as in 'model(x)' beside "
    "the output that the penalty is made of",
)
NO_CALL = (
    "no call of a Keras model is seen under a tf.GradientTape",
    "build the model as a keras.Model, and call it under the tape",
)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call of a model, and for the updates."""
    loops = loops_by_hand(plan)
    twice = list(under_two_tapes(plan))
    for event in twice if loops or fits(plan) else ():
        yield from computed_whole(event)
    if not loops:
        return
    calls = list(taped_calls(plan))
    if not calls:
        for event in loops:
            yield Ruling.refuse(
                "TF302",
                event,
                *(NOTHING_LEFT if twice else NO_CALL),
            )
        return
    for event in calls:
        call = event.node
        assert isinstance(call, cst.Call)
        done = isinstance(call.func, cst.Call) and is_helper(call.func.func)
        yield Ruling.apply(
            "TF301",
            (event.module, call),
            "each worker computes its rows of this call",
            data=call.func,
            done=done,
        )
    for event in loops:
        yield Ruling.done(
            "TF301",
            event,
            "every worker has the gradients of the whole batch",
            claims=(event.node,),
        )


def computed_whole(event: Event) -> Iterator[Answer]:
    """The answers about a call whose gradients are differentiated again."""
    call = event.node
    assert isinstance(call, cst.Call)
    done = isinstance(call.func, cst.Call) and is_helper(call.func.func)
    yield Ruling.apply(
        "TF303",
        (event.module, call),
        "every worker computes this call whole",
        data=call.func,
        done=done,
    )
    yield Remark.note(
        "TF303",
        (event.module, call),
        "what is differentiated twice is computed whole by every worker",
    )


def under_two_tapes(plan: Plan) -> Iterator[Event]:
    """The calls of models whose gradients are differentiated again, each place once."""
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) not in seen and is_taken_twice(plan, event):
            if not isinstance(event.node, cst.Call) or in_helper(event) or inside_model(event):
                continue
            if any(is_model(value) for value in called(event)):
                seen.add(id(event.node))
                yield event


def is_helper(function: cst.BaseExpression) -> bool:
    """Whether a call goes through the helper already."""
    return isinstance(function, cst.Name) and function.value.startswith(
        ("split_calls", "compute_whole")
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what is called."""
    helper = "compute_whole" if ruling.code == "TF303" else "split_calls"
    yield Helper(helper, ruling.module)
    name = plan.names_in(ruling.module).fresh(helper)
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
