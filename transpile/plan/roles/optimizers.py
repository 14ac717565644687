"""Finding the optimizers, and whose parameters they hold."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.events import Event
from transpile.facts.interpreter import Facts
from transpile.facts.values import (
    Argument,
    Arguments,
    BoundMethod,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
)
from transpile.plan.graph import (
    called_names,
    is_instance_of,
    method_calls,
    origin,
    walk_back,
)
from transpile.plan.model import Optimizer
from transpile.plan.table import Table


def find_optimizers(facts: Facts, table: Table) -> Iterable[Optimizer]:
    """Every optimizer, with the objects whose parameters it was given."""
    found: dict[int, Optimizer] = {}
    for event in facts.calls:
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
    for event in facts.calls:
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
        if first is not None and called_names(value) and are_parameters(first.values, table):
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
        elif isinstance(value, Opaque) and value.kind == "operation" and value.name == "Add":
            pending.extend(part for operand in value.operands for part in operand)
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


def are_parameters(values: Values, table: Table) -> bool:
    """Whether some value is ``model.parameters()``, or a list of groups of a model's parameters."""
    if gives_parameters(values, table):
        return True
    groups = [
        group
        for value in values
        if isinstance(value, Sequence)
        for group in value.every()
        if isinstance(group, Mapping) and table.parameters_keyword in group.entries
    ]
    return bool(groups) and bool(parameter_owners(tuple(groups), table))


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
