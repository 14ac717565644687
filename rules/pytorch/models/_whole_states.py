"""Where a script takes, or gives back, the state of a model whose parameters are sharded."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import External, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import method_calls, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import part_of
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.plan.query import query
from transpile.records import dataclass

NORM = "torch.nn.utils.clip_grad_norm_"
#: Functions that a state may be given to: they write it, or hold it for that.
KEEPING = frozenset({"torch.save", "builtins.dict", "copy.deepcopy", "copy.copy"})


@dataclass(frozen=True, eq=False)
class Place:
    """An expression whose value is sharded, or must be.

    Args:
        module: where it is.
        node: the expression.
        helper: what makes it whole, or shards it.
        receiver: the text of the optimizer or model that a state is loaded into.
        used: the call that makes something else of a state than to write it.
    """

    module: Module
    node: cst.BaseExpression
    helper: str
    receiver: str = ""
    used: Event | None = None


@query
def places(plan: Plan) -> list[Place]:
    """Every such place, where a model is to be sharded."""
    return list(search(plan)) if plan.options.strategy == "fsdp" else []


def meetings(plan: Plan) -> set[int]:
    """The expressions in which all processes meet, by the identity of their node.

    Sharded parameters are gathered wherever the model is called or its state is taken.
    """
    if plan.options.strategy != "fsdp":
        return set()
    found = {id(place.node) for place in places(plan) if not place.receiver}
    for model in plan.trained_models:
        found.update(id(event.node) for event in model.forwards)
    return found


def search(plan: Plan) -> Iterator[Place]:
    """See :func:`places`."""
    for model in plan.trained_models:
        wrap = find_wrap(plan, model)
        if wrapped_already(plan, model) or not isinstance(wrap, Wrap):
            continue
        seen: set[int] = set()
        for event in plan.facts.calls:
            if event.detached or event.order < wrap.order or id(event.node) in seen:
                continue
            found = place_of(plan, model, event)
            if found is not None:
                seen.add(id(event.node))
                yield found


def place_of(plan: Plan, model: Model, event: Event) -> Place | None:
    """The place that a call is."""
    if not isinstance(event.node, cst.Call):
        return None
    for callee in event.callee:
        if isinstance(callee, External) and callee.name == NORM:
            if not isinstance(event.module.source.parent(event.node), cst.Expr):
                return Place(event.module, event.node, "whole_norm")
        if not isinstance(callee, Opaque) or callee.kind != "attribute":
            continue
        of_model = any(part_of(plan, value, model) for value in callee.operands[0])
        mine = [optimizer.value for optimizer in model.optimizers]
        of_optimizer = any(value is one for value in callee.operands[0] for one in mine)
        if callee.name == "state_dict" and (of_model or of_optimizer):
            used = user(plan, event.result, event)
            return Place(event.module, event.node, "gathered", used=used)
        if callee.name == "load_state_dict" and (of_model or of_optimizer) and event.node.args:
            assert isinstance(event.node.func, cst.Attribute)
            text = event.module.source.code(event.node.func.value)
            helper = "own_shards" if of_optimizer else "own_parts"
            taken = of_model and is_taken(event.arguments.items[0].values)
            node = event.node.args[0].value
            return Place(event.module, node, helper, text, event if taken else None)
    return None


def is_taken(state: Values) -> bool:
    """Whether a state was taken from a model in the same run, rather than read from a file."""
    return any(
        name == "state_dict" for value in walk_back(state) for name, _ in method_calls(value)
    )


def user(plan: Plan, state: Values, made: Event) -> Event | None:
    """A call that is given a state, and does not write it."""
    wanted = {id(value) for value in state}
    for event in plan.facts.calls:
        if event.order <= made.order or event.detached:
            continue
        if all(isinstance(callee, External) and callee.name in KEEPING for callee in event.callee):
            continue
        if not any(isinstance(callee, (External, Opaque)) for callee in event.callee):
            continue
        if any(holds(value, wanted, 3) for a in event.arguments.items for value in a.values):
            return event
    return None


def holds(value: Value, wanted: set[int], depth: int) -> bool:
    """Whether a value is one of some, or a dict or list that holds one."""
    if id(value) in wanted:
        return True
    if depth and isinstance(value, (Mapping, Sequence)):
        return any(holds(each, wanted, depth - 1) for each in value.every())
    return False
