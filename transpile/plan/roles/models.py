"""Finding the models: what is called, and which of it learns."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Mapping_

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    Constant,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    join,
)
from transpile.plan.graph import (
    Search,
    called_names,
    is_instance_of,
    method_calls,
    origin,
    origins,
    walk_back,
)
from transpile.plan.model import Model, Optimizer, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.roles.cut_gradients import stops_gradients
from transpile.plan.roles.surroundings import (
    enters_part,
    gradients_off,
    inside_module,
    top_module,
)
from transpile.plan.table import Table

#: Builtins that give the elements of what they are given.
PASSED_ON = frozenset({"builtins.reversed", "builtins.enumerate", "builtins.zip"})


def find_models(plan: Plan) -> None:
    """Every object with parameters that is called, and which of them learn."""
    table = plan.table
    held: list[tuple[Value, Optimizer]] = [
        (module, optimizer)
        for optimizer in plan.optimizers
        for module in optimizer.modules
        # ``self.net = None``, until it is made: what has parameters is no constant.
        if not isinstance(module, Constant)
    ]
    found: dict[int, Model] = {}

    def model_of(value: Value) -> Model:
        if id(value) not in found:
            found[id(value)] = Model(value)
        return found[id(value)]

    for module, optimizer in held:
        model = model_of(top_module(module, table))
        if optimizer not in model.optimizers:
            model.optimizers.append(optimizer)
    by_hand = updated_by_hand(plan)
    for value in by_hand if not plan.optimizers else ():
        # What a library made, such as a row of layers, learns by hand; beside an optimizer it is
        # as well a copy that follows another model.
        if isinstance(value, Opaque) and value.kind == "call":
            model_of(top_module(value, table))
    for event in plan.facts.calls:
        if inside_module(event.stack, table):
            continue
        for callee in event.callee:
            for behind in (origin(one) for one in called_objects(callee, table)):
                if id(behind) in found or is_instance_of(behind, table.module_bases):
                    model_of(behind).forwards.append(event)
    uncalled = [model for model in found.values() if not model.forwards]
    by_method = [model_of(one) for one in asked_by_method(plan, uncalled)]
    for part in uncalled:
        owner = owner_of(part.value, found.values(), table)
        if owner is None and not has_called_methods(plan, part.value):
            owner = owner_among(by_method, part, table)
        if owner is not None and owner is not part:
            del found[id(part.value)]
            owner.optimizers.extend(o for o in part.optimizers if o not in owner.optimizers)
    parts = {
        id(part): model
        for model in found.values()
        if model.optimizers and is_instance_of(model.value, table.module_bases)
        for part in walk_parts(model.value)
        if any(name.startswith(table.layer_packages) for name in called_names(part))
    }
    holders = {id(one): optimizer for optimizer in plan.optimizers for one in optimizer.tensors}
    learning: set[int] = set()
    for backward in plan.backwards:
        owned = {} if backward.event.detached else parts
        loose: list[Optimizer] = []
        for value in walk_back(backward.loss, enters_made):
            holder = holders.get(id(value))
            if holder is not None and holder not in loose:
                loose.append(holder)
        backward.models = models_behind(walk_back(backward.loss, enters_made), found, owned)
        backward.tensors = tuple(loose)
        if backward.models and not backward.event.detached:
            # A target has an optimizer, too, where its class makes one for each of its objects.
            flow = walk_back(
                backward.loss, lambda v: enters_made(v) and not stops_gradients(plan, v)
            )
            uncut = (value for value in flow if not stops_gradients(plan, value))
            learning.update(id(one) for one in models_behind(uncut, found, owned))
    for model in found.values():
        model.updated_by_hand = any(model.value is value for value in by_hand)
        learns = bool(model.optimizers) or (model.updated_by_hand and not follows(plan, model))
        model.trained = learns and id(model) in learning
    through = {id(model): model for each in plan.backwards for model in each.models}
    for model in found.values():
        if model.optimizers and id(model) not in through:
            within = [*walk_back(tuple(each.value for each in through.values()))]
            apart = not any(one is model.value for one in within)
            if apart and owner_of(model.value, through.values(), table) is None:
                find_reads(plan, model)
    plan.models = [model for model in found.values() if model.forwards or model.optimizers]


def find_reads(plan: Plan, model: Model) -> None:
    """Note where a loss is made of what a model has, not of what it gives when it is called."""
    kept = held_by(model.value)
    for backward in plan.backwards:
        if any(id(value) in kept for value in walk_back(backward.loss, enters_made)):
            for optimizer in model.optimizers:
                if not any(one is model.value for one in optimizer.read):
                    optimizer.read.append(model.value)
                if optimizer not in backward.tensors:
                    backward.tensors += (optimizer,)


def held_by(model: Value) -> set[int]:
    """A model and all that it has, by identity."""
    found: set[int] = set()
    pending = [model]
    while pending:
        value = pending.pop()
        if id(value) in found or not isinstance(value, (Instance, Mapping, Opaque, Sequence)):
            continue
        found.add(id(value))
        if isinstance(value, Instance):
            pending.extend(origins(join(*value.attributes.values())))
        elif isinstance(value, (Sequence, Mapping)):
            pending.extend(origins(value.every()))
    return found


def enters_made(value: Value) -> bool:
    """Whether what a value is made of is looked at where models behind a loss are."""
    return not isinstance(value, (Instance, Function))


def models_behind(
    values: Iterable[Value], found: Mapping_[int, Model], owned: Mapping_[int, Model]
) -> tuple[Model, ...]:
    """The models that are called for some values, or whose layers are among them.

    Args:
        values: the values, what they are made of included.
        found: the models, by the identity of what they are.
        owned: the models that layers belong to, by the identities of these.
    """
    through: list[Model] = []
    for value in values:
        if isinstance(value, Opaque) and value.kind == "call":
            for callee in (*value.callee, *bound_receivers(value.callee)):
                called = found.get(id(origin(callee))) or owner_behind(callee, owned)
                if called is not None and called not in through:
                    through.append(called)
        elif id(value) in owned and owned[id(value)] not in through:
            through.append(owned[id(value)])
    return tuple(through)


def owner_behind(callee: Value, owned: Mapping_[int, Model]) -> Model | None:
    """The model that a layer is a part of, be it one of a list of layers."""
    for value in walk_back((callee,), is_one_of_several):
        if id(value) in owned:
            return owned[id(value)]
    return None


def is_one_of_several(value: Value) -> bool:
    """Whether a value is taken out of others, as the rounds of a loop do."""
    return isinstance(value, Opaque) and (
        value.kind in ("element", "item", "operation")
        or any(name in PASSED_ON for name in called_names(value))
    )


def called_objects(callee: Value, table: Table) -> Values:
    """What is called: an object, or that whose ``forward`` is called directly."""
    dispatched = table.dialect.dispatched
    if isinstance(callee, BoundMethod) and callee.function.name in dispatched:
        return (callee.receiver,)
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in dispatched:
        return callee.operands[0]
    return (callee,)


def owner_of(part: Value, models: Iterable[Model], table: Table) -> Model | None:
    """The one called model that a module without calls of its own is part of."""
    owners = [
        model
        for model in models
        if model.forwards
        and (
            holds(model.value, part, table)
            if isinstance(model.value, Instance)
            else contains(model.value, part, table)
        )
    ]
    return owners[0] if len(owners) == 1 else None


def contains(whole: Value, part: Value, table: Table) -> bool:
    """Whether a layer of the framework is made of a module, as ``Sequential(encoder, head)``."""
    if whole is part or not any(n.startswith(table.layer_packages) for n in called_names(whole)):
        return False
    return any(value is part for value in walk_back((whole,), enters_made))


def asked_by_method(plan: Plan, parts: list[Model]) -> list[Instance]:
    """The models whose methods are called from outside, where some parts have no called owner."""
    if not parts:
        return []
    found: dict[int, Instance] = {}
    for event in plan.facts.calls:
        for callee in event.callee if not inside_module(event.stack, plan.table) else ():
            if isinstance(callee, BoundMethod):
                receiver = origin(callee.receiver)
                if isinstance(receiver, Instance):
                    if is_instance_of(receiver, plan.table.module_bases):
                        found.setdefault(id(receiver), receiver)
    return list(found.values())


def has_called_methods(plan: Plan, value: Value) -> bool:
    """Whether methods of an object are called, such as one by which a layer trains itself."""
    return any(
        isinstance(callee, BoundMethod) and origin(callee.receiver) is value
        for event in plan.facts.calls
        for callee in event.callee
    )


def owner_among(models: list[Model], part: Model, table: Table) -> Model | None:
    """The one of some models that a module is part of."""
    owners = [
        model
        for model in models
        if isinstance(model.value, Instance) and holds(model.value, part.value, table)
    ]
    return owners[0] if len(owners) == 1 else None


def holds(owner: Instance, part: Value, table: Table) -> bool:
    """Whether a module is a part of a model, through lists, containers and other modules."""
    seen: set[int] = set()
    pending: list[Value] = [owner]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value is part and value is not owner:
            return True
        if isinstance(value, Instance) and is_instance_of(value, table.module_bases):
            pending.extend(origins(join(*value.attributes.values())))
        elif isinstance(value, (Sequence, Mapping)):
            pending.extend(origins(value.every()))
        elif any(name.startswith(table.layer_packages) for name in called_names(value)):
            for argument in value.arguments.items if isinstance(value, Opaque) else ():
                pending.extend(origins(argument.values))
    return False


def updated_by_hand(plan: Plan) -> list[Value]:
    """The models whose parameters the script changes itself, one by one."""
    found: list[Value] = []
    switches = {"requires_grad", "grad", *plan.table.gradient_switches}
    gradients = Search(is_gradient)
    for event in plan.facts.events:
        if event.kind == "call":
            bases = [
                callee.operands[0]
                for callee in event.callee
                if isinstance(callee, Opaque)
                and callee.kind == "attribute"
                and callee.name.endswith("_")
                and callee.name not in ("requires_grad_", "zero_", "copy_")
            ]
        elif event.kind in ("operate", "store") and event.name not in switches:
            bases = [event.callee]
        else:
            continue
        if event.kind == "store" and descends(event.result, gradients):
            # One parameter after the other, as ``model.weight.data -= rate * model.weight.grad``.
            for owner in (top_module(one, plan.table) for one in event.callee):
                module = is_instance_of(owner, plan.table.module_bases)
                if module or any(
                    name.startswith(plan.table.layer_packages) for name in called_names(owner)
                ):
                    found.append(owner)
        for base in bases:
            # What scales gradients between the backward pass and the step changes no parameter.
            for value in walk_back(base, lambda v: enters_part(v) and not is_gradient(v)):
                for name, receiver in method_calls(value):
                    if name in plan.table.parameter_methods:
                        found.extend(
                            owner
                            for owner in origins(receiver)
                            if not any(owner is other for other in found)
                        )
    return found


def follows(plan: Plan, model: Model) -> bool:
    """Whether no call of a model gives gradients: what changes it is another model, not a loss."""
    return bool(model.forwards) and all(
        gradients_off(event.stack, plan.table) or is_cut_off(event) for event in model.forwards
    )


def is_cut_off(event: Event) -> bool:
    """Whether what a call gives is detached at once: ``target(x).detach()``."""
    source = event.module.source
    attribute = source.parent(event.node) if source.has(event.node) else None
    call = source.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    return (
        isinstance(attribute, cst.Attribute)
        and attribute.attr.value == "detach"
        and isinstance(call, cst.Call)
        and call.func is attribute
    )


def descends(values: Values, gradients: Search) -> bool:
    """Whether a gradient is added to something, or taken from it."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "operation"
        and value.name in ("Add", "Subtract")
        and gradients.finds(value.operands[-1])
        for value in values
    )


def is_gradient(value: Value) -> bool:
    """Whether a value is the gradient of a tensor."""
    return isinstance(value, Opaque) and value.kind == "attribute" and value.name == "grad"


def bound_receivers(values: Values) -> tuple[Value, ...]:
    """The receivers among bound methods and opaque methods."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, BoundMethod):
            found.append(value.receiver)
        elif isinstance(value, Opaque) and value.kind == "attribute":
            found.extend(origins(value.operands[0]))
    return tuple(found)
