"""Whether models normalise over the samples of a batch."""

from __future__ import annotations

from transpile.facts.values import Opaque
from transpile.plan.graph import called_names
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts

BATCH_NORMS = (
    "paddle.nn.BatchNorm", "paddle.nn.BatchNorm1D", "paddle.nn.BatchNorm2D",
    "paddle.nn.BatchNorm3D",
)  # fmt: skip


def has_batch_norm(plan: Plan, model: Model) -> bool:
    """Whether a model has batch norm, or may have it because its making cannot be analysed."""
    if isinstance(model.value, Opaque):
        names = called_names(model.value)
        if not any(name.startswith("paddle.nn.") for name in names):
            return True
    for value in walk_parts(model.value):
        for name in called_names(value):
            if name in BATCH_NORMS or name.startswith("paddle.vision.models."):
                return True
    return False
