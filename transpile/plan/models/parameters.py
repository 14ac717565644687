"""Which values are layers that learn."""

from __future__ import annotations

from transpile.facts.values import Instance, Mapping, Opaque, Sequence, Value
from transpile.plan.graph import called_names
from transpile.plan.model import Plan


def has_parameters(value: Value, plan: Plan, known: dict[int, bool]) -> bool:
    """Whether a value is or holds a layer with parameters."""
    if id(value) in known:
        return known[id(value)]
    known[id(value)] = False
    found = False
    layers = plan.table.quantities.layers
    if isinstance(value, Instance):
        bases = value.cls.external_bases()
        if any(name in plan.table.module_bases for name in bases):
            found = any(
                has_parameters(part, plan, known)
                for values in value.attributes.values()
                for part in values
            )
        elif any(name.startswith((*layers.packages, *layers.flat)) for name in bases):
            found = True
    elif isinstance(value, (Sequence, Mapping)):
        found = any(has_parameters(part, plan, known) for part in value.every())
    elif isinstance(value, Opaque) and value.kind == "call":
        for name in called_names(value):
            word = name.rpartition(".")[2]
            if word in layers.containers:
                # What is put into an empty one later is most likely a layer.
                found = not value.arguments.items or any(
                    has_parameters(part, plan, known)
                    for argument in value.arguments.items
                    for part in argument.values
                )
            elif name.startswith(layers.functional) or word in layers.parameterless:
                continue
            elif name.startswith(layers.packages) and not word.endswith("Loss"):
                found = found or word[:1].isupper()
            elif name.startswith(layers.whole):
                found = True
    known[id(value)] = found
    return found
