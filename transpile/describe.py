"""The plan as plain data, for ``--plan``, reports and launch manifests."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, Value
from transpile.plan.data.batch_size.given import global_batch_size, loader_workers
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rule import Rulings, place


def describe(plan: Plan, rulings: Rulings) -> dict[str, Any]:
    """What the script is made of and what was decided, as JSON can hold it."""
    return {
        "framework": plan.table.framework,
        "shard": plan.way,
        "modules": [module.source.path for module in plan.facts.modules.values()],
        "models": [
            {
                "class": class_name(model.value),
                "trained": model.trained,
                **position(model.value),
            }
            for model in plan.models
        ],
        "optimizers": [
            {
                "class": class_name(optimizer.value),
                "models": [class_name(module) for module in optimizer.modules],
                **at(optimizer.event.module, optimizer.event.node),
            }
            for optimizer in plan.optimizers
        ],
        "loaders": [
            {
                "training": loader.training,
                "batch_size": text_of(plan, loader.argument("batch_size")),
                **at(loader.event.module, loader.event.node),
            }
            for loader in plan.loaders
        ],
        "batch_size": batch_size(plan),
        "loader_workers": workers(plan),
        "backward": [
            {
                "epoch_loops": [at(loop.module, loop.node) for loop in backward.epoch_loops],
                "batch_loop": (
                    at(backward.batch_loop.module, backward.batch_loop.node)
                    if backward.batch_loop is not None
                    else None
                ),
                **at(backward.event.module, backward.event.node),
            }
            for backward in plan.backwards
        ],
        "decisions": [
            {
                "rule": name,
                "code": ruling.code,
                "verdict": ruling.verdict.value,
                "reason": ruling.reason,
                **at(ruling.module, ruling.node),
            }
            for name, answers in sorted(rulings.by_rule.items())
            for ruling in answers
        ],
    }


def batch_size(plan: Plan) -> dict[str, Any] | None:
    """What the processes divide among them, where it is known."""
    found = global_batch_size(plan)
    return {"global": found.value, "options": list(found.options)} if found else None


def workers(plan: Plan) -> dict[str, Any] | None:
    """How many workers each process starts for its loader, where that is known."""
    found = loader_workers(plan)
    return {"each": found.value, "options": list(found.options)} if found else None


def at(module: Module, node: cst.CSTNode) -> dict[str, Any]:
    """Path, line and column."""
    path, line, column = place(module, node)
    return {"path": path, "line": line, "column": column}


def position(value: Value) -> dict[str, Any]:
    """Where a value was made, where it has a place."""
    if isinstance(value, (Instance, Opaque)):
        return at(value.module, value.node)
    return {}


def class_name(value: Value) -> str:
    """How to call the class of a value."""
    if isinstance(value, Instance):
        return value.cls.name
    names = called_names(value)
    if names:
        return names[0]
    return value.name if isinstance(value, Opaque) and value.name else "unknown"


def text_of(plan: Plan, argument: Any) -> str | None:
    """The source text of an argument."""
    if argument is None or argument.node is None:
        return None
    for module in plan.facts.modules.values():
        try:
            return module.source.code(argument.node)
        except KeyError:
            continue
    return None
