"""Parameters that a backward pass may not reach, which DataParallel must be told of."""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from transpile.facts.events import Branch, Call
from transpile.facts.values import Instance, Opaque, Value
from transpile.plan.graph import called_names, made_of, walk_back
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.frozen import frozen_later
from transpile.plan.models.learning import outputs, reached_by_losses, training_forwards
from transpile.plan.models.parts import inside_others, walk_parts
from transpile.plan.query import query
from transpile.plan.unused.calls_of_models import is_called, one_pass_at_a_time
from transpile.plan.unused.chosen_outputs import chooses_outputs
from transpile.plan.unused.frozen_parts import frozen_behind_wrap
from transpile.plan.unused.passed_over import (
    are_told_layers,
    passes_over,
)
from transpile.plan.unused.picked_outputs import picks_outputs

#: Parts of the names of layers that have no parameters.
WITHOUT_PARAMETERS = (
    "Dropout", "ReLU", "Sigmoid", "Tanh", "Softmax", "Pool", "Flatten", "Identity", "Upsample",
    "Pad", "ELU", "GELU", "Silu", "Softplus", "Hard", "Loss", "Pixel", "Unfold", "Fold",
    "Softsign", "CELU", "Mish", "Swish", "Threshold", "Cosine", "Pairwise", "Shuffle", "Maxout",
    "LogSigmoid",
)  # fmt: skip
CHANCE = ("random.", "numpy.random.", "paddle.rand")


@query
def may_leave_parameters_out(plan: Plan, model: Model) -> bool:
    """Whether some training step certainly or possibly leaves parameters of a model unused."""
    layers = [value for value in walk_parts(model.value) if has_parameters(value)]
    if frozen_behind_wrap(plan, model) or frozen_later(plan, model):
        return True
    if passes_over(plan, model, layers):
        return True
    if not isinstance(model.value, Instance):
        return False
    reached = reached_by_losses(plan)
    if not any(id(layer) in reached for layer in layers):
        # Its forward could not be followed: nothing is known of what it uses.
        return False
    top = opened(plan, outermost(layers), reached)
    if any(id(layer) not in reached for layer in top):
        return True
    if picks_outputs(plan, model, layers) or any(
        leaves_out(plan, backward, model, top) or chooses_outputs(plan, backward, model, layers)
        for backward in plan.backwards
    ):
        return True
    return any(depends_on_data(plan, model, layer) for layer in top)


@query
def stops_the_wrap(plan: Plan, model: Model) -> bool:
    """Whether steps leave parameters out in a way that DataParallel has no answer to.

    It looks in each call for parameters that none of its outputs comes from. So it waits for those
    of outputs that a loss does without, and stops where one of several calls before a backward
    pass leaves out what another uses; it looks in the first step even where it is not told to.
    """
    layers = [value for value in walk_parts(model.value) if has_parameters(value)]
    if is_called(plan, model.value) and not one_pass_at_a_time(plan, model.value):
        return (
            may_leave_parameters_out(plan, model)
            or are_told_layers(plan, model, layers)
            or calls_differ(plan, model, layers)
        )
    calls = training_forwards(plan, model)
    given = made_of(tuple(value for event in calls for value in outputs(event)))
    top = opened(plan, outermost(layers), given)
    offered = [layer for layer in top if id(layer) in given]
    return picks_outputs(plan, model, layers) or any(
        leaves_out(plan, backward, model, offered) or chooses_outputs(plan, backward, model, layers)
        for backward in plan.backwards
    )


def calls_differ(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether calls that one loss is made of use different layers of a model."""
    for backward in plan.backwards:
        behind = made_of(backward.loss)
        calls = [e for e in model.forwards if any(id(value) in behind for value in e.result)]
        made = [made_of(event.result) for event in calls]
        if len({frozenset(id(layer) for layer in layers if id(layer) in one) for one in made}) > 1:
            return True
    return False


def outermost(layers: list[Value]) -> list[Value]:
    """The layers that no other of them holds."""
    inner = inside_others(layers)
    return [layer for layer in layers if id(layer) not in inner]


def opened(plan: Plan, layers: list[Value], used: Container[int]) -> list[Value]:
    """Layers, and in place of containers that are not called as a whole what they hold."""
    found: list[Value] = []
    holding = plan.table.dialect.holds_parts
    for layer in layers:
        if id(layer) in used or holding.isdisjoint(called_names(layer)):
            found.append(layer)
            continue
        parts = [part for part in walk_parts(layer)[1:] if has_parameters(part)]
        found.extend(opened(plan, outermost(parts), used))
    return found


def leaves_out(plan: Plan, backward: Backward, model: Model, layers: list[Value]) -> bool:
    """Whether a backward pass through a model does without some layers that others need."""
    if backward.event.detached or model not in backward.models:
        return False
    used = made_of(backward.loss)
    layers = opened(plan, layers, used)
    return 0 < sum(id(layer) in used for layer in layers) < len(layers)


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
