"""Parameters that a backward pass may not reach, which DataParallel must be told of."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Call
from transpile.facts.values import Instance, Opaque, Value
from transpile.plan.graph import called_names, made_of, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.frozen import frozen_later
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.models.parts import inside_others, walk_parts

#: Parts of the names of layers that have no parameters.
WITHOUT_PARAMETERS = (
    "Dropout", "ReLU", "Sigmoid", "Tanh", "Softmax", "Pool", "Flatten", "Identity", "Upsample",
    "Pad", "ELU", "GELU", "Silu", "Softplus", "Hard", "Loss", "Pixel", "Unfold", "Fold",
    "Softsign", "CELU", "Mish", "Swish", "Threshold", "Cosine", "Pairwise", "Shuffle", "Maxout",
    "LogSigmoid",
)  # fmt: skip
CHANCE = ("random.", "numpy.random.", "paddle.rand")


def may_leave_parameters_out(plan: Plan, model: Model) -> bool:
    """Whether some training step certainly or possibly leaves parameters of a model unused."""
    if not isinstance(model.value, Instance):
        return False
    if frozen_later(plan, model):
        return True
    layers = [value for value in walk_parts(model.value) if has_parameters(value)]
    reached = reached_by_losses(plan)
    if not any(id(layer) in reached for layer in layers):
        # Its forward could not be followed: nothing is known of what it uses.
        return False
    inner = inside_others(layers)
    top = [layer for layer in layers if id(layer) not in inner]
    if any(id(layer) not in reached for layer in top):
        return True
    for backward in plan.backwards:
        if backward.event.detached or model not in backward.models:
            continue
        used = made_of(backward.loss)
        if 0 < sum(id(layer) in used for layer in top) < len(top):
            return True
    return any(depends_on_data(plan, model, layer) for layer in top)


def has_parameters(value: Value) -> bool:
    """Whether a value is a layer of paddle.nn that learns."""
    for name in called_names(value):
        if name.startswith("paddle.nn.") and name.count(".") == 2:
            return not any(word in name for word in WITHOUT_PARAMETERS)
    return False


def depends_on_data(plan: Plan, model: Model, layer: Value) -> bool:
    """Whether every call of a layer stands under a test that the data or chance decides."""
    calls = [
        event
        for event in plan.facts.reached_calls
        if any(callee is layer for callee in event.callee)
    ]
    return bool(calls) and all(varies(plan, event.stack, model) for event in calls)


def varies(plan: Plan, stack: tuple[object, ...], model: Model) -> bool:
    """Whether a place in the model's code stands under a test that may differ by batch."""
    inside = False
    for frame in stack:
        if isinstance(frame, Call):
            inside = inside or any(value is model.value for value in frame.receiver)
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            for value in walk_back(plan.facts.values_of(frame.node.test)):
                if isinstance(value, Opaque) and value.kind == "element":
                    return True
                if any(
                    name.startswith(("random.", "numpy.random.")) for name in called_names(value)
                ):
                    return True
    return False
