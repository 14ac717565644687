"""Finding the roles: loaders, models, optimizers and backward passes, by the flow of values."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Call, Event, Loop, Stack, Within
from transpile.facts.interpreter import Facts
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
    join,
)
from transpile.options import Options
from transpile.plan.cuts import find_cuts
from transpile.plan.graph import (
    SIZE_OPERATIONS,
    called_names,
    is_instance_of,
    method_calls,
    origin,
    origins,
    walk_back,
)
from transpile.plan.model import Backward, Loader, Model, Optimizer, Plan
from transpile.plan.noise_batches import take_in_noise
from transpile.plan.parts import walk_parts
from transpile.plan.table import Table


def build_plan(facts: Facts, table: Table, options: Options) -> Plan:
    """The plan of a script."""
    plan = Plan(facts, table, options)
    plan.loaders = list(find_loaders(facts, table))
    plan.optimizers = list(find_optimizers(facts, table))
    find_backwards(plan)
    take_in_noise(plan)
    find_models(plan)
    return plan


# Loaders.


def find_loaders(facts: Facts, table: Table) -> Iterable[Loader]:
    """Every object of a loader class, and what iterates over it."""
    found: dict[int, Loader] = {}
    for event in facts.events:
        if event.kind != "call":
            continue
        for value in event.result:
            parameters = loader_parameters(value, table)
            if parameters is None or id(value) in found:
                continue
            if isinstance(value, Opaque) and value.node is not event.node:
                continue
            if isinstance(value, Instance) and value.node is not event.node:
                continue
            found[id(value)] = Loader(value, event, parameters)  # type: ignore[arg-type]
    for event in facts.events:
        if event.kind == "iterate":
            for value in walk_back(event.callee, enters_iterator):
                if id(value) in found and event not in found[id(value)].iterations:
                    found[id(value)].iterations.append(event)
    return found.values()


def loader_parameters(value: Value, table: Table) -> tuple[str, ...] | None:
    """The parameters of the class that made a loader; None for anything else."""
    for name in called_names(value):
        if name in table.loader_parameters:
            return table.loader_parameters[name]
    if isinstance(value, Instance):
        for base in value.cls.external_bases():
            if base in table.loader_parameters:
                return table.loader_parameters[base]
    return None


def enters_iterator(value: Value) -> bool:
    """Whether iterating over a value iterates over what it is made of."""
    if isinstance(value, Opaque):
        if value.kind == "operation":
            return value.name in ("iterate", "enumerate", "zip", "filter")
        return value.kind == "call" and any(isinstance(c, External) for c in value.callee)
    return False


# Optimizers.


def find_optimizers(facts: Facts, table: Table) -> Iterable[Optimizer]:
    """Every optimizer, with the objects whose parameters it was given."""
    found: dict[int, Optimizer] = {}
    for event in facts.events:
        if event.kind != "call":
            continue
        for value in event.result:
            if id(value) in found or not is_optimizer(value, event, table):
                continue
            first = optimized(event.arguments, table)
            optimizer = Optimizer(value, event)  # type: ignore[arg-type]
            if first is not None:
                optimizer.modules = parameter_owners(first.values, table)
                optimizer.unknown_because = loose_parameters(first.values, table)
            if not optimizer.unknown_because and not optimizer.modules:
                optimizer.unknown_because = "no model's parameters are seen among its arguments"
            found[id(value)] = optimizer
    share_groups(found, table)
    for event in facts.events:
        if event.kind != "call":
            continue
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if callee.name in table.step_methods:
                    for behind in callee.operands[0]:
                        if id(behind) in found:
                            found[id(behind)].steps.append(event)
        for argument in event.arguments.items:
            # A gradient scaler steps the optimizer that it is given.
            if any(
                isinstance(c, Opaque) and c.kind == "attribute" and c.name in table.step_methods
                for c in event.callee
            ):
                for value in argument.values:
                    if id(value) in found:
                        found[id(value)].steps.append(event)
    return found.values()


def share_groups(found: dict[int, Optimizer], table: Table) -> None:
    """Give an optimizer within another, made from that one's groups, what that one updates."""
    for optimizer in found.values():
        first = optimized(optimizer.event.arguments, table)
        values = first.values if first is not None else ()
        outer = [
            found.get(id(behind))
            for value in values
            if isinstance(value, Opaque) and value.kind == "attribute"
            if value.name == table.parameter_groups
            for behind in value.operands[0]
        ]
        if outer and len(outer) == len(values) and optimizer not in outer:
            optimizer.modules = tuple(
                {id(m): m for each in outer if each is not None for m in each.modules}.values()
            )
            if optimizer.modules and None not in outer:
                optimizer.unknown_because = next(
                    (each.unknown_because for each in outer if each is not None), ""
                )


def is_optimizer(value: Value, event: Event, table: Table) -> bool:
    """Whether a value, made by a call, is an optimizer."""
    if isinstance(value, Opaque) and value.kind == "call" and value.node is event.node:
        if any(table.is_optimizer(name) for name in called_names(value)):
            return True
        # Chosen by name: getattr(torch.optim, name)(model.parameters()).
        for callee in value.callee:
            if isinstance(callee, Opaque) and callee.name == "getattr":
                base = callee.operands[0]
                if any(
                    isinstance(v, External) and f"{v.name}.".startswith(table.optimizer_packages)
                    for v in base
                ):
                    return True
        first = optimized(value.arguments, table)
        if first is not None and not called_names(value):
            unknown_callee = any(isinstance(c, (Unknown, Opaque)) for c in value.callee)
            if unknown_callee and gives_parameters(first.values, table):
                return True
        if first is not None and called_names(value) and gives_parameters(first.values, table):
            last = called_names(value)[0].rpartition(".")[2]
            # Third-party optimizers are classes: their names begin with a capital.
            return last[:1].isupper() and "Scheduler" not in last and "LR" not in last
    if isinstance(value, Instance) and value.node is event.node:
        return any(table.is_optimizer(name) for name in value.cls.external_bases())
    return False


def optimized(arguments: Arguments, table: Table) -> Argument | None:
    """The argument of an optimizer that says what it updates."""
    if table.parameters_first:
        return arguments.get(table.parameters_keyword, 0)
    found = arguments.keyword(table.parameters_keyword)
    if found is not None:
        return found
    return next((a for a in arguments.positional() if gives_parameters(a.values, table)), None)


def loose_parameters(values: Values, table: Table) -> str:
    """What is wrong where an optimizer is given tensors that belong to no model."""
    pending = list(values)
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Sequence):
            pending.extend(value.every())
        elif isinstance(value, Mapping):
            entry = value.entries.get("params")
            pending.extend(entry.values if entry is not None else ())
        elif isinstance(value, Opaque):
            if not parameter_owners((value,), table):
                return "it is given a tensor that belongs to no model"
    return ""


def gives_parameters(values: Values, table: Table) -> bool:
    """Whether some value is directly the result of ``model.parameters()``."""
    for value in values:
        for name, _ in method_calls(value):
            if name in table.parameter_methods:
                return True
    return False


def parameter_owners(values: Values, table: Table) -> tuple[Value, ...]:
    """The objects whose ``parameters()`` the values contain."""
    owners: list[Value] = []

    def add(value: Value) -> None:
        behind = origin(value)
        if not any(behind is other for other in owners):
            owners.append(behind)

    for value in walk_back(values, lambda v: not is_instance_of(v, table.module_bases)):
        for name, receiver in method_calls(value):
            if name in table.parameter_methods:
                for owner in receiver:
                    add(owner)
        for callee in value.callee if isinstance(value, Opaque) else ():
            if isinstance(callee, BoundMethod) and is_instance_of(
                callee.receiver, table.module_bases
            ):
                add(callee.receiver)
        if is_instance_of(value, table.module_bases):
            add(value)
        if (
            isinstance(value, Opaque)
            and value.kind == "attribute"
            and value.name
            in (
                "weight",
                "bias",
            )
        ):
            for owner in value.operands[0]:
                add(owner)
    return tuple(owners)


# Backward passes.


def find_backwards(plan: Plan) -> None:
    """Every backward pass with the loaders, the loop and the epochs that it belongs to."""
    table = plan.table
    happening = {
        id(value): event
        for event in plan.facts.events
        if event.kind == "call"
        for value in event.result
    }
    for event in plan.facts.events:
        if event.kind != "call":
            continue
        loss = backward_loss(event, table)
        if loss is None:
            continue
        backward = Backward(event, loss)
        loaders = []
        for loader, wrapped in data_sources(loss, plan):
            loader.training = True
            if wrapped and not loader.wrapped:
                loader.wrapped = wrapped
            loaders.append(loader)
        backward.loaders = tuple(loaders)
        place_in_loops(backward)
        if not loaders:
            find_cuts(plan, backward, happening)
        plan.backwards.append(backward)


def backward_loss(event: Event, table: Table) -> Values | None:
    """What a call runs backward from; None where it is no backward pass."""
    values: list[Value] = []
    found = False
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in table.backward_methods:
                if any(
                    isinstance(v, External) or makes_updates(v, table) for v in callee.operands[0]
                ):
                    continue
                found = True
                # What a loop adds up may be any of several values, such as the number it began as.
                values.extend(callee.operands[0])
        if isinstance(callee, External) and callee.name in table.backward_functions:
            first = event.arguments.get("tensors", 0)
            return first.values if first is not None else ()
    if not found:
        return None
    # A manual optimizer or engine: engine.backward(loss).
    for argument in event.arguments.items:
        if argument.keyword is None:
            values.extend(argument.values)
    return tuple(values)


def makes_updates(value: Value, table: Table) -> bool:
    """Whether a value is an optimizer, whose ``backward`` adds gradients to a static graph."""
    return any(table.is_optimizer(name) for name in called_names(value))


def data_sources(values: Values, plan: Plan) -> list[tuple[Loader, str]]:
    """The loaders whose batches the values depend on, and what wraps them on the way."""
    by_value = {id(loader.value): loader for loader in plan.loaders}
    found: list[tuple[Loader, str]] = []

    def enter(value: Value) -> bool:
        if isinstance(value, Opaque) and value.kind == "operation":
            return value.name not in SIZE_OPERATIONS or not any(
                id(v) in by_value for group in value.operands for v in group
            )
        return not isinstance(value, (Instance, Function, Class))

    for value in walk_back(values, enter):
        if isinstance(value, Opaque) and value.kind == "element":
            for source in value.operands[0]:
                for behind in walk_back((source,), enters_wrapper):
                    if id(behind) in by_value:
                        loader = by_value[id(behind)]
                        wrapped = "" if behind is source else wrapper_name(source)
                        if not any(loader is other for other, _ in found):
                            found.append((loader, wrapped))
    return found


def enters_wrapper(value: Value) -> bool:
    """Whether a value may hand on the batches of what it was given."""
    return isinstance(value, Opaque) and value.kind in ("call", "operation")


def wrapper_name(value: Value) -> str:
    """How to call what stands between a loader and its loop."""
    names = called_names(value)
    return names[0] if names else "something that cannot be looked into"


def place_in_loops(backward: Backward) -> None:
    """Find the loop that draws the batches of a backward pass, and the loops around it."""
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    iterations = [event for loader in backward.loaders for event in loader.iterations]
    for position in range(len(loops) - 1, -1, -1):
        for event in iterations:
            if event.node is loops[position].node or draws_in(event, loops[position]):
                backward.batch_loop = loops[position]
                backward.epoch_loops = tuple(loops[:position])
                backward.iteration = event
                return


def draws_in(event: Event, loop: Loop) -> bool:
    """Whether ``next()`` or a comprehension draws a batch directly inside a loop."""
    own = [frame for frame in event.stack if isinstance(frame, Loop)]
    return event.name == "next" and bool(own) and own[-1].node is loop.node


# Models.


def find_models(plan: Plan) -> None:
    """Every object with parameters that is called, and which of them learn."""
    table = plan.table
    held: list[tuple[Value, Optimizer]] = [
        (module, optimizer) for optimizer in plan.optimizers for module in optimizer.modules
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
    for event in plan.facts.events:
        if event.kind != "call" or inside_module(event.stack, table):
            continue
        for callee in event.callee:
            for behind in (origin(one) for one in called_objects(callee, table)):
                if id(behind) in found or is_instance_of(behind, table.module_bases):
                    model_of(behind).forwards.append(event)
    for part in [model for model in found.values() if not model.forwards]:
        owner = owner_of(part.value, found.values(), table)
        if owner is not None:
            del found[id(part.value)]
            owner.optimizers.extend(o for o in part.optimizers if o not in owner.optimizers)
    parts = {
        id(part): model
        for model in found.values()
        if model.optimizers and is_instance_of(model.value, table.module_bases)
        for part in walk_parts(model.value)
        if any(name.startswith(table.layer_packages) for name in called_names(part))
    }
    for backward in plan.backwards:
        through: list[Model] = []
        owned = {} if backward.event.detached else parts
        for value in walk_back(backward.loss, lambda v: not isinstance(v, (Instance, Function))):
            if isinstance(value, Opaque) and value.kind == "call":
                for callee in (*value.callee, *bound_receivers(value.callee)):
                    called = found.get(id(origin(callee))) or owned.get(id(callee))
                    if called is not None and called not in through:
                        through.append(called)
            elif id(value) in owned and owned[id(value)] not in through:
                through.append(owned[id(value)])
        backward.models = tuple(through)
    by_hand = updated_by_hand(plan)
    for model in found.values():
        model.updated_by_hand = any(model.value is value for value in by_hand)
        model.trained = bool(model.optimizers or model.updated_by_hand) and any(
            model in backward.models and not backward.event.detached for backward in plan.backwards
        )
    plan.models = [model for model in found.values() if model.forwards or model.optimizers]


def called_objects(callee: Value, table: Table) -> Values:
    """What is called: an object, or that whose ``forward`` is called directly."""
    dispatched = table.dialect.instance_call.values()
    if isinstance(callee, BoundMethod) and callee.function.name in dispatched:
        return (callee.receiver,)
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in dispatched:
        return callee.operands[0]
    return (callee,)


def owner_of(part: Value, models: Iterable[Model], table: Table) -> Model | None:
    """The one called model of the project that a module without calls of its own is part of."""
    owners = [
        model
        for model in models
        if model.forwards and isinstance(model.value, Instance) and holds(model.value, part, table)
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
        elif event.kind in ("operate", "store") and event.name not in ("requires_grad", "grad"):
            bases = [event.callee]
        else:
            continue
        for base in bases:
            for value in walk_back(base, enters_part):
                for name, receiver in method_calls(value):
                    if name in plan.table.parameter_methods:
                        found.extend(
                            owner
                            for owner in origins(receiver)
                            if not any(owner is other for other in found)
                        )
    return found


def enters_part(value: Value) -> bool:
    """Whether a value is a part of what it is made of, such as an element or an attribute."""
    return isinstance(value, Opaque) and (
        value.kind in ("element", "item", "attribute")
        or (value.kind == "operation" and value.name in ("iterate", "enumerate", "zip", "filter"))
    )


def bound_receivers(values: Values) -> tuple[Value, ...]:
    """The receivers among bound methods and opaque methods."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, BoundMethod):
            found.append(value.receiver)
        elif isinstance(value, Opaque) and value.kind == "attribute":
            found.extend(origins(value.operands[0]))
    return tuple(found)


def top_module(value: Value, table: Table) -> Value:
    """The whole model that a part, such as ``model.fc``, belongs to."""
    current = value
    for _ in range(20):
        if not isinstance(current, Opaque) or current.kind not in ("attribute", "item"):
            return current
        base = origins(current.operands[0])
        if len(base) != 1 or not isinstance(base[0], (Opaque, Instance)):
            return current
        if isinstance(base[0], Instance) and not is_instance_of(base[0], table.module_bases):
            return current
        current = base[0]
    return current


def inside_module(stack: Stack, table: Table) -> bool:
    """Whether a place runs inside the code of a model."""
    return any(
        isinstance(frame, Call)
        and any(is_instance_of(value, table.module_bases) for value in frame.receiver)
        for frame in stack
    )


def gradients_off(stack: Stack, table: Table) -> bool:
    """Whether gradients are switched off at a place, by a manager or a decorator."""
    for frame in stack:
        managers: Values = ()
        if isinstance(frame, Within):
            managers = frame.managers
        elif isinstance(frame, Call):
            managers = tuple(v for values in frame.function.decorators for v in values)
        for value in managers:
            names = called_names(value) + ((value.name,) if isinstance(value, External) else ())
            if any(name in table.no_gradient for name in names):
                return True
    return False


def call_expression(event: Event) -> cst.Call | None:
    """The call expression of an event."""
    return event.node if isinstance(event.node, cst.Call) else None
