"""Finding the loaders, and what iterates over them."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.interpreter import Facts
from transpile.facts.values import (
    External,
    Instance,
    Opaque,
    Value,
)
from transpile.plan.graph import (
    called_names,
    walk_back,
)
from transpile.plan.model import Loader
from transpile.plan.table import Table


def find_loaders(facts: Facts, table: Table) -> Iterable[Loader]:
    """Every object of a loader class, and what iterates over it."""
    found: dict[int, Loader] = {}
    for event in facts.calls:
        for value in event.result:
            parameters = loader_parameters(value, table)
            if parameters is None or id(value) in found:
                continue
            if isinstance(value, Opaque) and value.node is not event.node:
                continue
            if isinstance(value, Instance) and value.node is not event.node:
                continue
            found[id(value)] = Loader(value, event, parameters)  # type: ignore[arg-type]
    for event in facts.iterations:
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
