"""Methods of models that train: what they compute is no model's output."""

from __future__ import annotations

from transpile.facts.values import Opaque
from transpile.plan.model import Plan
from transpile.plan.places import function_of


def training_functions(plan: Plan) -> set[int]:
    """The functions that run a backward pass, or make the loss that one begins from.

    A model's own ``forward`` may return a loss, too, and stays a part of the model.
    """
    dispatched = plan.table.dialect.dispatched
    found: set[int] = set()
    for backward in plan.backwards:
        functions = [frame.function.node for frame in backward.event.calls()]
        for value in backward.loss:
            if isinstance(value, Opaque):
                maker = function_of(value.module, value.node)
                if maker is not None and maker.name.value not in dispatched:
                    functions.append(maker)
        found.update(id(function) for function in functions)
    return found
