"""Whether models are in evaluation mode when a loop calls them."""

from __future__ import annotations

from transpile.facts.events import Branch, Event
from transpile.facts.values import External, Instance
from transpile.plan.graph import called_names
from transpile.plan.model import Model, Plan
from transpile.plan.models.modes import changed_to, changes
from transpile.plan.models.parts import walk_parts

from .words import EvaluationWords

#: Layers that depend on the mode, or may.
MODAL = (
    "Dropout", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "BatchNorm", "LazyBatchNorm",
    "SyncBatchNorm", "InstanceNorm", "Transformer", "MultiheadAttention", "MultiHeadAttention",
    "LSTM", "GRU", "RNN",
)  # fmt: skip


def evaluates(plan: Plan, model: Model, event: Event, words: EvaluationWords) -> bool:
    """Whether a model certainly is in evaluation mode, or knows no other, when it is called."""
    around = {frame for frame in event.stack if isinstance(frame, Branch)}
    for earlier in reversed(changes(plan)):
        if earlier.order > event.order:
            continue
        word = changed_to(earlier, model.value)
        if word is None:
            continue
        certain = all(frame in around for frame in earlier.stack if isinstance(frame, Branch))
        if word == "eval" and certain:
            return True
        if word != "eval":
            break
    return has_one_mode(plan, model, words)


def has_one_mode(plan: Plan, model: Model, words: EvaluationWords) -> bool:
    """Whether a model does the same whatever its mode."""
    value = model.value
    names = [name for part in walk_parts(value) for name in called_names(part)]
    for event in plan.facts.calls:
        if any(receiver is value for frame in event.calls() for receiver in frame.receiver):
            names.extend(callee.name for callee in event.callee if isinstance(callee, External))
    if not isinstance(value, Instance) and not called_names(value):
        return False
    return all(
        name.startswith(words.modeless) and not name.rpartition(".")[2].startswith(MODAL)
        for name in names
    )
