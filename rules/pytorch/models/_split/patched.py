"""Layers and models whose ``forward`` is another function than that of their class."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import BoundMethod, External, Function, Opaque, Value, Values
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.analysis import Supposing

#: Give a function that does the same as the one that they are given.
COMPILING = ("torch.compile", "torch.jit.", "torch.amp.", "torch.cuda.amp.")
PATCHED = "the 'forward' of a layer is another function than that of its class"


@query
def supposing(plan: Plan) -> Supposing:
    """The analysis that tells what models are given, before it is known what they do."""
    return Supposing(plan)


@query
def patched_forward(plan: Plan) -> Event | None:
    """Where the script puts another function in the place of a layer's or model's ``forward``."""
    for event in plan.facts.events:
        if event.kind != "store" or event.name != "forward":
            continue
        layers = [base for base in event.callee if is_layer(plan, base)]
        same = event.result and all(is_the_same(value, event.callee) for value in event.result)
        if layers and not same:
            return event
    return None


def is_layer(plan: Plan, value: Value) -> bool:
    """Whether a value is a layer or model, or the class of a library's layers."""
    analysis = supposing(plan)
    if isinstance(value, External):
        return analysis.vocabulary.layers.makes(value.name)
    return analysis.is_layer(origin(value))


def is_the_same(stored: Value, layers: Values) -> bool:
    """Whether a function is the ``forward`` of the layer itself, compiled or in other precision."""
    if isinstance(stored, BoundMethod):
        return stored.function.name == "forward" and stored.receiver in layers
    if not isinstance(stored, Opaque):
        return False
    if any(name.startswith(COMPILING) for name in called_names(stored)):
        first = stored.arguments.items[:1]
        return bool(first) and all(is_the_same(value, layers) for value in first[0].values)
    own = stored.kind == "attribute" and stored.name == "forward"
    return own and all(value in layers for value in stored.operands[0])


def is_expression(stored: Event) -> bool:
    """Whether what is stored is a function that gives the value of an expression, and no more."""
    return bool(stored.result) and all(
        isinstance(value, Function) and isinstance(value.node, cst.Lambda)
        for value in stored.result
    )
