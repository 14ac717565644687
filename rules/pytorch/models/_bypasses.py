"""Ways into a trained model that its wrap does not see."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import BoundMethod, External, Instance, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.models.parts import part_base
from transpile.plan.query import query
from transpile.plan.roles.models import called_objects
from transpile.plan.roles.surroundings import gradients_off, inside_module


def bypasses(plan: Plan, model: Model) -> Iterator[tuple[Event, str]]:
    """The calls of methods or parts of a model, from outside, that a backward pass goes through."""
    seen: set[int] = set()
    for event in learning_calls(plan):
        if id(event.node) in seen or any(callee is model.value for callee in event.callee):
            continue
        for callee in event.callee:
            why = bypass(plan, event, callee, model)
            if why:
                seen.add(id(event.node))
                yield event, why


@query
def learning_calls(plan: Plan) -> list[Event]:
    """The calls outside of models that a backward pass goes through."""
    reached = reached_by_losses(plan)
    return [
        event
        for event in plan.facts.calls
        if not event.detached
        and any(id(value) in reached for value in event.result)
        and not inside_module(event.stack, plan.table)
        and not gradients_off(event.stack, plan.table)
    ]


def bypass(plan: Plan, event: Event, callee: Value, model: Model) -> str:
    """What is wrong with a call; empty where nothing is."""
    if isinstance(callee, BoundMethod) and callee.receiver is model.value:
        name = callee.function.name
        # The wrap has a forward of its own, which averages gradients as its call does.
        if name in plan.table.dialect.dispatched:
            return ""
        if calls_layers(plan, event):
            return f"the model is trained through its method '{name}', which its wrap does not see"
        return ""
    if isinstance(callee, Opaque) and callee.kind in ("attribute", "item"):
        if is_method_of_part(callee) or model.value in called_objects(callee, plan.table):
            return ""
        base = part_base(callee)
        if base is model.value:
            return "a part of the model is called on its own in training, past its wrap"
    if isinstance(callee, (Instance, Opaque)) and is_layer_of(callee, model):
        return "a part of the model is called on its own in training, past its wrap"
    return ""


def is_method_of_part(callee: Opaque) -> bool:
    """Whether an attribute is a method such as ``model.parameters`` and no layer."""
    if callee.name in METHODS or not callee.operands or not callee.operands[0]:
        return True
    return all(isinstance(one, Opaque) and one.name in TENSORS for one in callee.operands[0])


def is_layer_of(value: Value, model: Model) -> bool:
    """Whether a value is a layer that the model holds."""
    if not isinstance(model.value, Instance) or value is model.value:
        return False
    return any(value is part for values in model.value.attributes.values() for part in values) and (
        isinstance(value, Instance) or any(n.startswith("torch.nn.") for n in called_names(value))
    )


def calls_layers(plan: Plan, event: Event) -> bool:
    """Whether a method of a model, called at an event, runs layers or reads parameters."""
    for other in plan.facts.calls_within.get(id(event.node), ()):
        if gradients_off(other.stack, plan.table):
            continue
        if other.order <= event.order and other is not event:
            continue
        for callee in other.callee:
            if isinstance(callee, Instance):
                return True
            if isinstance(callee, Opaque) and any(
                name.startswith("torch.nn.") for name in called_names(callee)
            ):
                return True
            if isinstance(callee, External) and callee.name.startswith("torch.nn.functional."):
                if any(
                    isinstance(value, Opaque) and value.name in ("weight", "bias")
                    for argument in other.arguments.items
                    for value in walk_back(argument.values)
                ):
                    return True
    return False


#: Attributes of layers that are tensors: what is called on them is no layer.
TENSORS = frozenset({"weight", "bias", "data", "grad"})
METHODS = frozenset(
    {
        "parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval", "to",
        "cuda", "cpu", "zero_grad", "modules", "named_modules", "children", "named_children",
        "buffers", "named_buffers", "apply", "half", "float", "double", "requires_grad_",
        "register_forward_hook", "share_memory", "add_module", "size", "items", "keys", "values",
    }
)  # fmt: skip
