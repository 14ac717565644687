"""Whether a model has batch norm."""

from __future__ import annotations

from transpile.plan.graph import called_names
from transpile.plan.model import Model, Plan
from transpile.plan.parts import walk_parts

BATCH_NORMS = (
    "torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d",
    "torch.nn.LazyBatchNorm1d", "torch.nn.LazyBatchNorm2d", "torch.nn.LazyBatchNorm3d",
)  # fmt: skip


def has_batch_norm(plan: Plan, model: Model) -> bool | None:
    """Whether a model has batch norm; None where its making cannot be looked into."""
    answer: bool | None = False
    for value in walk_parts(model.value):
        for name in called_names(value):
            if name in BATCH_NORMS:
                return True
            if not name.startswith(("torch.nn.", "builtins.")) and value is not model.value:
                continue
            if value is model.value and not name.startswith("torch.nn."):
                answer = None
    for event in plan.facts.calls_to(*BATCH_NORMS):
        receivers = [value for frame in event.calls() for value in frame.receiver]
        if any(receiver is model.value for receiver in receivers):
            return True
    return answer
