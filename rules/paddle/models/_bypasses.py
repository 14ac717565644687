"""Ways into a trained model that its wrap does not see."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    External,
    Instance,
    Opaque,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import outputs, reached_by_losses, training_forwards
from transpile.plan.models.parts import part_base
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off, inside_module

#: Methods of a layer that compute nothing that is trained.
METHODS = frozenset(
    {
        "parameters", "named_parameters", "state_dict", "set_state_dict", "set_dict", "load_dict",
        "train", "eval", "to", "sublayers", "named_sublayers", "children", "named_children",
        "buffers", "named_buffers", "apply", "clear_gradients", "full_name", "add_sublayer",
        "register_forward_pre_hook", "register_forward_post_hook", "astype", "float", "items",
        "keys", "values", "append",
    }
)  # fmt: skip


def bypasses(plan: Plan, model: Model) -> Iterator[tuple[Event, str]]:
    """The calls of methods or parts of a model, from outside, that a backward pass goes through."""
    reached = reached_by_losses(plan)
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        if id(event.node) in seen:
            continue
        if not any(id(value) in reached for value in event.result):
            continue
        if any(callee is model.value for callee in event.callee):
            continue
        if inside_module(event.stack, plan.table) or gradients_off(event.stack, plan.table):
            continue
        for callee in event.callee:
            why = bypass(plan, event, callee, model)
            if why:
                seen.add(id(event.node))
                yield event, why


def parameters_beside(plan: Plan, model: Model) -> Iterator[Opaque]:
    """The model's own parameters that losses depend on, but not through its call."""
    given = tuple(value for event in training_forwards(plan, model) for value in outputs(event))
    ends = {id(value) for value in given}
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    inside = {id(value) for value in walk_back(given, is_no_instance)}
    for value in walk_back(losses, lambda v: is_no_instance(v) and id(v) not in ends):
        if isinstance(value, Opaque) and id(value) not in inside and is_parameter_of(value, model):
            yield value


def is_no_instance(value: Value) -> bool:
    """Whether a value is none of the project's objects, which hold more than they give."""
    return not isinstance(value, Instance)


def is_parameter_of(value: Opaque, model: Model) -> bool:
    """Whether a value is a parameter that a model made and holds."""
    made = "paddle.create_parameter" in called_names(value) or any(
        name == "create_parameter" for name, _ in method_calls(value)
    )
    return (
        made
        and isinstance(model.value, Instance)
        and any(value is part for held in model.value.attributes.values() for part in held)
    )


def bypass(plan: Plan, event: Event, callee: Value, model: Model) -> str:
    """What is wrong with a call; empty where nothing is."""
    if isinstance(callee, BoundMethod) and callee.receiver is model.value:
        name = callee.function.name
        if name == "forward":
            return "the model's forward is called directly, past the wrap that averages gradients"
        if calls_layers(plan, event):
            return f"the model is trained through its method '{name}', which its wrap does not see"
        return ""
    if isinstance(callee, Opaque) and callee.kind in ("attribute", "item"):
        if callee.name in METHODS or not callee.operands or not callee.operands[0]:
            return ""
        if part_base(callee) is model.value and not is_buffer(plan, callee.operands[0]):
            return "a part of the model is called on its own in training, past its wrap"
    if isinstance(model.value, Instance) and callee is not model.value:
        held = (part for values in model.value.attributes.values() for part in values)
        layer = isinstance(callee, Instance) or any(
            name.startswith("paddle.nn.") for name in called_names(callee)
        )
        if layer and any(callee is part for part in held):
            return "a part of the model is called on its own in training, past its wrap"
    return ""


def is_buffer(plan: Plan, values: Values) -> bool:
    """Whether values are buffers, which learn nothing: a method of a tensor is no part's pass."""
    return bool(values) and all(
        isinstance(value, Opaque) and value.kind == "attribute" and value.name in buffer_names(plan)
        for value in values
    )


@query
def buffer_names(plan: Plan) -> frozenset[str]:
    """The names that the script registers buffers of layers under."""
    return frozenset(
        constant.value
        for event in plan.facts.calls_by_word.get("register_buffer", ())
        for name in (event.arguments.get("name", 0),)
        if name is not None
        for constant in (only_constant(name.values),)
        if constant is not None and isinstance(constant.value, str)
    )


def calls_layers(plan: Plan, event: Event) -> bool:
    """Whether a method of a model, called at an event, runs layers."""
    for other in plan.facts.calls_within.get(id(event.node), ()):
        if gradients_off(other.stack, plan.table):
            continue
        for callee in other.callee:
            if isinstance(callee, Instance):
                return True
            if any(name.startswith("paddle.nn.") for name in called_names(callee)):
                return True
            if isinstance(callee, External) and callee.name.startswith("paddle.nn.functional."):
                return True
    return False
