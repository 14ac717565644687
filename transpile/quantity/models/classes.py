"""The classes of the script whose objects are models, and their methods that train."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, Instance, Opaque
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.plan.models.parameters import has_parameters
from transpile.plan.query import query


@query
def model_classes(plan: Plan) -> frozenset[int]:
    """The class definitions whose objects have layers with parameters."""
    return frozenset(find_model_classes(plan))


def find_model_classes(plan: Plan) -> Iterable[int]:
    """The same, one by one, some of them several times."""
    known: dict[int, bool] = {}
    for event in plan.facts.calls:
        for value in (*event.result, *event.callee):
            if isinstance(value, Instance) and has_parameters(value, plan, known):
                for ancestor in value.cls.ancestry():
                    if isinstance(ancestor, Class):
                        yield id(ancestor.node)


@query
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


class ModelCode:
    """Answers whether places are part of the classes of models.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self._classes = model_classes(plan)
        self._training = training_functions(plan)
        self._known: dict[int, bool] = {}

    def holds(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of the class of a model."""
        key = id(node)
        if key not in self._known:
            try:
                around = list(module.source.parents(node))
            except KeyError:
                around = []
            identities = {id(one) for one in (node, *around)}
            inside = not identities.isdisjoint(self._classes)
            self._known[key] = inside and identities.isdisjoint(self._training)
        return self._known[key]


@query
def model_code(plan: Plan) -> ModelCode:
    """The code of a plan's models, the same for all who ask."""
    return ModelCode(plan)
