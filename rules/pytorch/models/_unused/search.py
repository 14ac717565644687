"""Parameters that a backward pass may not reach, which DistributedDataParallel must be told of."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from transpile.facts.events import Branch, Call, Event
from transpile.facts.values import Constant, Instance, ModuleValue, Opaque, Value
from transpile.plan.graph import called_names, made_of, method_calls, walk_back
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.frozen import frozen_later
from transpile.plan.models.learning import outputs, reached_by_losses
from transpile.plan.models.method_calls import training_method_calls
from transpile.plan.models.parts import inside_others, walk_parts
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off
from transpile.plan.unused.calls_of_models import is_called, one_pass_at_a_time
from transpile.plan.unused.chosen_outputs import chooses_outputs
from transpile.plan.unused.frozen_parts import frozen_behind_wrap
from transpile.plan.unused.passed_over import (
    passes_over,
    passes_vary,
)
from transpile.plan.unused.picked_outputs import picks_outputs
from transpile.plan.unused.varying_tests import is_about_data
from transpile.rules.pytorch.models._unused.cut_off import may_be_cut_off, takes_gradients

#: Layers of torch.nn that have no parameters.
WITHOUT_PARAMETERS = (
    "Dropout", "ReLU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Pool", "Flatten", "Identity",
    "Upsample", "Pad", "ELU", "GELU", "SiLU", "Softplus", "Hard", "Loss", "Pixel", "Unfold",
    "Fold", "Softsign", "CELU", "Mish", "Threshold", "Cosine", "Pairwise", "Unflatten", "Shuffle",
)  # fmt: skip

#: Layers that leave those of their parameters out that the targets of a batch do not ask for.
ASKED_BY_TARGETS = frozenset({"torch.nn.AdaptiveLogSoftmaxWithLoss"})

#: What gives whole models.
MODELS_OF_LIBRARIES = (
    "torchvision.models.",
    "timm.create_model",
    "torch.hub.load",
    "transformers.",
)

#: Methods that hand a model's parameters out.
PARAMETER_METHODS = frozenset({"parameters", "named_parameters", "state_dict"})

CHECKPOINTS = frozenset(
    {"torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential"}
)


@query
def may_leave_parameters_out(plan: Plan, model: Model) -> bool:
    """Whether some training step certainly or possibly leaves parameters of a model unused."""
    if checkpoints_reentrantly(plan):
        return False
    if frozen_behind_wrap(plan, model):
        return True
    if any(not ASKED_BY_TARGETS.isdisjoint(called_names(one)) for one in walk_parts(model.value)):
        return True
    if not isinstance(model.value, Instance):
        layers = [value for value in walk_parts(model.value) if has_parameters(value)]
        return is_picked_by_name(plan, model.value) or passes_over(plan, model, layers)
    if runs_parts_without_gradient(plan, model) or frozen_later(plan, model):
        return True
    layers = [value for value in walk_parts(model.value) if has_parameters(value)]
    if passes_over(plan, model, layers):
        return True
    reached = reached_by_losses(plan)
    used = [layer for layer in layers if is_among(reached, layer)]
    if not used:
        # Its forward could not be followed: nothing is known of what it uses.
        return False
    inner = inside_others(layers)
    top = [layer for layer in layers if id(layer) not in inner]
    if not all(is_among(reached, layer) for layer in top):
        return True
    if picks_outputs(plan, model, layers) or any(
        leaves_out(backward, model, top) or chooses_outputs(plan, backward, model, layers)
        for backward in plan.backwards
    ):
        return True
    return any(depends_on_data(plan, model, layer) for layer in layers)


@query
def learns_by_several_passes(plan: Plan, model: Model) -> bool:
    """Whether a call may leave layers unused that its backward pass comes to all the same.

    DistributedDataParallel takes a parameter for ready as soon as one call does without it, and
    stops where another uses it before that backward pass, or the script itself does.
    """
    if not is_called(plan, model.value):
        return False
    layers = [value for value in walk_parts(model.value) if has_parameters(value)]
    itself = meets_losses_by_itself(plan, model, layers)
    if (itself or takes_gradients(plan)) and may_be_cut_off(plan, model):
        return True
    if (itself or shares_layers(plan, model, layers)) and may_leave_parameters_out(plan, model):
        return True
    return not one_pass_at_a_time(plan, model.value) and (
        passes_vary(plan, model, layers)
        or calls_use_others(plan, model, layers)
        or any(depends_on_data(plan, model, layer) for layer in layers)
    )


def meets_losses_by_itself(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether a loss uses a layer or parameter other than through calls of the model."""
    given = {id(value) for event in model.forwards for value in handed_out(event)}
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    met = {
        id(value): value
        for value in walk_back(losses, lambda v: id(v) not in given and not isinstance(v, Instance))
    }
    if training_method_calls(plan, model) or any(id(layer) in met for layer in layers):
        return True
    return any(
        name in PARAMETER_METHODS and any(receiver is model.value for receiver in receivers)
        for value in met.values()
        for name, receivers in method_calls(value)
    )


def handed_out(event: Event) -> Iterator[Value]:
    """What a call gives, and what objects of the project that it gives hold."""
    for value in outputs(event):
        yield value
        if isinstance(value, Instance):
            yield from (one for values in value.attributes.values() for one in values)


def shares_layers(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether another model that is trained has layers of a model, too."""
    own = set(map(id, layers))
    return any(
        id(part) in own
        for other in plan.trained_models
        if other is not model
        for part in walk_parts(other.value)
    )


def calls_use_others(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether calls that one loss is made of use different layers of a model, or may do so.

    They may where they are told different things, such as the name of a head.
    """
    for backward in plan.backwards:
        behind = made_of(backward.loss)
        calls = [e for e in model.forwards if any(id(value) in behind for value in e.result)]
        made = [made_of(event.result) for event in calls]
        used = {frozenset(id(layer) for layer in layers if id(layer) in one) for one in made}
        told = {
            tuple((item.keyword, v.value) for item in event.arguments.items for v in item.values
                  if isinstance(v, Constant))
            for event in calls
        }  # fmt: skip
        if len(used) > 1 or (len(told) > 1 and may_leave_parameters_out(plan, model)):
            return True
    return False


def is_picked_by_name(plan: Plan, value: Value) -> bool:
    """Whether a value is made by something that is picked by name out of a project's module.

    It may be any of the models there: ``getattr(models, name)()`` or ``models.__dict__[name]()``.
    """
    if not isinstance(value, Opaque) or not isinstance(value.node, cst.Call):
        return False
    picks = [callee for callee in value.callee if isinstance(callee, Opaque)]
    if any(pick.kind == "operation" and pick.name == "getattr" for pick in picks):
        packages = tuple(one for pick in picks for group in pick.operands for one in group)
        return any(isinstance(package, ModuleValue) for package in packages)
    function = value.node.func
    if not isinstance(function, cst.Subscript) or not isinstance(function.value, cst.Attribute):
        return False
    return function.value.attr.value == "__dict__" and any(
        isinstance(package, ModuleValue) for package in plan.facts.values_of(function.value.value)
    )


def may_search_for_unused(plan: Plan) -> bool:
    """Whether DistributedDataParallel can look for the parameters that a loss does without."""
    return not checkpoints_reentrantly(plan)


def runs_parts_without_gradient(plan: Plan, model: Model) -> bool:
    """Whether a part of a model is only ever called with gradients switched off."""
    calls, handed_on = uses_of_values(plan)
    for part in walk_parts(model.value):
        events = calls.get(id(part), [])
        if not events or id(part) in handed_on or not may_learn(part):
            continue
        if all(gradients_off(event.stack, plan.table) for event in events):
            return True
    return False


def may_learn(part: Value) -> bool:
    """Whether a part of a model is a layer with parameters or a model of a library."""
    names = called_names(part)
    return has_parameters(part) or any(name.startswith(MODELS_OF_LIBRARIES) for name in names)


def leaves_out(backward: Backward, model: Model, layers: list[Value]) -> bool:
    """Whether a backward pass through a model does without some layers that others need."""
    if backward.event.detached or model not in backward.models:
        return False
    reached = made_of(backward.loss)
    used = [layer for layer in layers if is_among(reached, layer)]
    return 0 < len(used) < len(layers)


def is_among(reached: Set[int], layer: Value) -> bool:
    """Whether a layer is among what a loss comes from, or all that it holds is."""
    if id(layer) in reached:
        return True
    held = [one for one in walk_parts(layer) if one is not layer and has_parameters(one)]
    return bool(held) and all(id(one) in reached for one in held)


def checkpoints_reentrantly(plan: Plan) -> bool:
    """Whether activations are computed anew by backward passes within the backward pass.

    The search for unused parameters then fails on every parameter there, used or not.
    """
    for event in plan.facts.calls_to(*CHECKPOINTS):
        reentrant = event.arguments.get("use_reentrant", None)
        if reentrant is None or reentrant.values != (Constant(False),):
            return True
    return False


def has_parameters(value: Value) -> bool:
    """Whether a value is a layer or a parameter of torch.nn that learns."""
    for name in called_names(value):
        if name.startswith("torch.nn.") and name.count(".") == 2:
            return not any(word in name for word in WITHOUT_PARAMETERS)
    return False


def depends_on_data(plan: Plan, model: Model, layer: Value) -> bool:
    """Whether every call of a layer stands under a test that the data or chance decides."""
    calls, handed_on = uses_of_values(plan)
    events = calls.get(id(layer), [])
    varying = bool(events) and all(under_varying_test(plan, event, model) for event in events)
    return varying and id(layer) not in handed_on


@query
def uses_of_values(plan: Plan) -> tuple[dict[int, list[Event]], set[int]]:
    """The calls of each value by its identity, and the identities of those given to a call."""
    calls: dict[int, list[Event]] = {}
    handed_on: set[int] = set()
    for event in plan.facts.reached_calls:
        for callee in event.callee:
            calls.setdefault(id(callee), []).append(event)
        if event.stack:
            for argument in event.arguments.items:
                handed_on.update(id(value) for value in argument.values)
    return (calls, handed_on)


def under_varying_test(plan: Plan, event: Event, model: Model) -> bool:
    """Whether an event stands, within the model's code, under a test that varies by step."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Call):
            inside = inside or any(value is model.value for value in frame.receiver)
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            for value in walk_back(plan.facts.values_of(frame.node.test), is_about_data):
                if isinstance(value, Opaque) and value.kind == "element":
                    return True
                if any(
                    name.startswith(("random.", "torch.rand", "numpy.random."))
                    for name in called_names(value)
                ):
                    return True
    return False
