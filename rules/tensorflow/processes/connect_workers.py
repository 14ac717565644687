"""Connect the workers before anything else of TensorFlow runs.

What:
    Below the imports the workers that ``TF_CONFIG`` names are connected by a
    ``MultiWorkerMirroredStrategy``, which carries what they tell each other. They agree on a seed,
    so that data is shuffled and parameters begin alike, and one of them alone prints. Each takes a
    GPU of its own. Without ``TF_CONFIG`` the script trains in one process, as before.

Why:
    Nothing is built under ``strategy.scope()``: there a last batch that the workers cannot share
    evenly weighs wrongly (24 % off with one sample left over), Keras 3 cannot ``fit`` at all, and
    a loss that the script averages itself would have to be written anew.

Before:
    import tensorflow as tf

After:
    strategy = connect_workers()

Refuses when:
    never. Other workers than those expected, or several tasks without ``TF_CONFIG``, stop the
    script when it starts.

Source:
    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, Remark, Ruling, Rulings
from transpile.rules.tensorflow._names import STRATEGY
from transpile.rules.tensorflow._needs import leave_out, useless
from transpile.rules.tensorflow._sites import calls_of, fits, loops_by_hand, taped_calls

CODES = {
    "TF101": "the workers are connected",
    "TF103": "the first batch must show that the samples of a model are apart",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for the script, where it trains."""
    if not fits(plan) and not loops_by_hand(plan):
        return
    for event in calls_of(plan, frozenset({STRATEGY})):
        yield Ruling.done("TF101", event, "the script connects the workers itself")
        return
    yield Ruling.apply(
        "TF101", (plan.entry, plan.entry.source.tree), "the workers are connected below the imports"
    )
    if "check_first_batch" in useless(plan):
        return
    for event in [*fits(plan), *taped_calls(plan)][:1]:
        yield Remark.note(
            "TF103",
            event,
            "whether a model with layers other than those of Keras keeps its samples apart is "
            "checked with the first batch, and the job stops where it does not",
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helpers that connect the workers when they are defined."""
    leave_out(plan)
    yield Helper("strategy", plan.entry)
    yield Helper("agree", plan.entry)
