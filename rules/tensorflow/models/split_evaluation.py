"""Let the workers share what Keras evaluates, where that is asked for.

What:
    With ``--eval shard`` what ``evaluate`` or ``test_on_batch`` is called on, and what ``fit``
    validates with, goes through a helper: of each batch every worker computes its rows, and gets
    the outputs of all. Losses and metrics are those of whole batches.

Why:
    Otherwise every worker computes all outputs of the evaluation.

Before:
    model.evaluate(images, labels)

After:
    split_evaluation(model).evaluate(images, labels)

Refuses when:
    Keras evaluates nothing. What loops of the script compute by themselves is computed whole by
    every worker, and said to be.

Source:
    https://keras.io/api/models/model_training_apis/#evaluate-method
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Super
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.tensorflow._names import FIT_METHODS
from transpile.rules.tensorflow._sites import (
    EVALUATING,
    evaluations,
    fits,
    loops_by_hand,
    receivers_of,
)

CODES = {
    "TF102": "nothing is evaluated that the workers could share",
    "TF221": "the workers share each batch that Keras evaluates",
    "TF222": "an evaluation is computed whole by every worker",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that evaluates, where that is to be shared."""
    if plan.options.evaluation != "shard" or not (fits(plan) or loops_by_hand(plan)):
        return
    found = evaluations(plan)
    if not found:
        yield Ruling.refuse(
            "TF102",
            (plan.entry, plan.entry.source.tree),
            "no evaluate() and no validation of fit() is in sight: what the script evaluates "
            "itself, every worker computes as a whole, so that nothing is left to shard",
            "leave out --eval shard",
        )
    for event in found:
        call = event.node
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        if any(
            isinstance(one, Super) for one in receivers_of(event, EVALUATING | FIT_METHODS) or ()
        ):
            continue
        made = call.func.value
        done = isinstance(made, cst.Call) and is_helper(made.func)
        yield Ruling.apply(
            "TF221",
            (event.module, call),
            "each worker computes its rows of every batch of the evaluation",
            data=made,
            done=done,
        )
    for event in loops_by_hand(plan)[:1] if found else ():
        yield Remark.warn(
            "TF222",
            event,
            "what this script evaluates in loops of its own is computed whole by every worker: "
            "only evaluate() and the validation of fit() are shared",
            "evaluate with evaluate(), or leave out --eval shard",
        )


def is_helper(function: cst.BaseExpression) -> bool:
    """Whether a call goes through the helper already."""
    return isinstance(function, cst.Name) and function.value.startswith("split_evaluation")


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what evaluates."""
    yield Helper("split_evaluation", ruling.module)
    name = plan.names_in(ruling.module).fresh("split_evaluation")
    for edit in wrap_expression(ruling.module.source, ruling.data, f"{name}(", ")"):
        yield In(ruling.module, edit)
