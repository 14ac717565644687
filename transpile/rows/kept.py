"""Tensors and layers that objects are given by name: ``register_buffer``, ``add_module``."""

from __future__ import annotations

from transpile.facts.interpreter import Facts
from transpile.facts.values import Constant, Instance, Opaque, Value, Values, join, only_constant

#: Methods that keep their second argument under the name that is their first.
TENSORS = frozenset({"register_buffer", "register_parameter"})
LAYERS = frozenset({"add_module", "register_module"})
#: Methods of containers of layers that put more into them.
PUT = frozenset({"append", "extend", "insert", "add_module", "register_module"})


def kept_tensors(facts: Facts) -> dict[tuple[int, str], Values]:
    """What ``register_buffer`` keeps, by object and name."""
    return kept(facts, TENSORS, "kept tensors")


def kept_layers(facts: Facts) -> dict[tuple[int, str], Values]:
    """What ``add_module`` keeps, by object and name."""
    return kept(facts, LAYERS, "kept layers")


def kept(facts: Facts, words: frozenset[str], memo: str) -> dict[tuple[int, str], Values]:
    """What methods keep by name."""
    table: dict[str, dict[tuple[int, str], Values]] = facts.__dict__.setdefault("rows", {})
    if memo not in table:
        found: dict[tuple[int, str], Values] = {}
        for event in facts.calls:
            for callee in event.callee:
                if not isinstance(callee, Opaque) or callee.name not in words:
                    continue
                name = event.arguments.get("name", 0)
                given = event.arguments.items[1:2]
                constant = only_constant(name.values) if name is not None else None
                if not given:
                    continue
                for owner in callee.operands[0] if callee.operands else ():
                    word = str(constant.value) if isinstance(constant, Constant) else "*"
                    key = (id(owner), word)
                    found[key] = join(found.get(key, ()), given[0].values)
        table[memo] = found
    return table[memo]


def put_in(facts: Facts, container: Value) -> Values:
    """What was put into a container of layers after it was made."""
    table: dict[str, dict[int, Values]] = facts.__dict__.setdefault("rows", {})
    if "put" not in table:
        found: dict[int, Values] = {}
        for event in facts.calls:
            for callee in event.callee:
                if isinstance(callee, Opaque) and callee.name in PUT and event.arguments.items:
                    last = event.arguments.items[-1].values
                    for owner in callee.operands[0] if callee.operands else ():
                        if isinstance(owner, (Opaque, Instance)):
                            found[id(owner)] = join(found.get(id(owner), ()), last)
        table["put"] = found
    return table["put"].get(id(container), ())
