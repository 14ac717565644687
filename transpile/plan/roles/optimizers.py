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
                loose = loose_parameters(first.values, table)
                optimizer.tensors = learned_tensors(loose, table)
                if loose and not optimizer.tensors:
                    optimizer.unknown_because = "it is given a tensor that belongs to no model"
            known = optimizer.modules or optimizer.tensors
            if not optimizer.unknown_because and not known:
                optimizer.unknown_because = "no model's parameters are seen among its arguments"
            found[id(value)] = optimizer
    add_groups(found, facts, table)
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


def add_groups(found: dict[int, Optimizer], facts: Facts, table: Table) -> None:
    """Give optimizers the parameters that they are told of once they are made."""
    for event in facts.calls:
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            if callee.name not in table.group_methods:
                continue
            given = tuple(value for item in event.arguments.items for value in item.values)
            owners, loose = parameter_owners(given, table), loose_parameters(given, table)
            tensors = learned_tensors(loose, table)
            for optimizer in (found[id(v)] for v in callee.operands[0] if id(v) in found):
                known = {id(one) for one in (*optimizer.modules, *optimizer.tensors)}
                optimizer.modules += tuple(one for one in owners if id(one) not in known)
                optimizer.tensors += tuple(one for one in tensors if id(one) not in known)
                if loose and not tensors:
                    optimizer.unknown_because = "it is given a tensor that belongs to no model"
                elif not owners and not tensors:
                    optimizer.unknown_because = "what is added to it cannot be followed"


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


def loose_parameters(values: Values, table: Table) -> list[Opaque]:
    """The tensors that an optimizer is given and that belong to no model."""
    found: list[Opaque] = []
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
                found.append(value)
    return found


#: Methods that give the same tensor, or one of its kind.
SAME_TENSOR = frozenset({"requires_grad_", "to", "cuda", "double", "float", "clone", "detach"})


def learned_tensors(loose: list[Opaque], table: Table) -> tuple[Value, ...]:
    """The tensors themselves, where the script makes all of them; empty where one is not known."""
    found: list[Value] = []
    for value in loose:
        chain = [value]
        while True:
            received = [again for word, again in method_calls(chain[-1]) if word in SAME_TENSOR]
            inner = received[0] if received else ()
            if len(inner) != 1 or not isinstance(inner[0], Opaque):
                break
            chain.append(inner[0])
        if not table.learns_tensors or not makes_tensor(chain[-1], table):
            return ()
        found.extend(chain)
    return tuple(found)


def makes_tensor(value: Value, table: Table) -> bool:
    """Whether a value is a tensor that the script makes out of numbers."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "operation" and value.name in ("Add", "Subtract", "Multiply", "Divide"):
        return any(makes_tensor(one, table) for operand in value.operands for one in operand)
    names = called_names(value)
    return bool(names) and all(
        name.startswith(table.quantities.tensors)
        and (name.endswith(".Parameter") or not name.startswith(table.layer_packages))
        for name in names
    )


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
