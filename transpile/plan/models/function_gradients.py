"""Gradients that a script takes by function, through calls of a model."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Function, Instance, Value, Values
from transpile.plan.flow.gate import hand_written
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import outputs


def parameter_gradients(plan: Plan, model: Model) -> bool:
    """Whether gradients are taken through calls of a model by function, not for data alone.

    Through a split call each process has W times the gradients of its own rows, and what is done
    with them is another thing than what is done with their mean.
    """
    own = {id(value) for event in model.forwards for value in outputs(event)}
    every = {id(value) for one in plan.models for event in one.forwards for value in outputs(event)}

    def through(values: Values) -> Iterator[Value]:
        return walk_back(values, lambda value: not isinstance(value, (Instance, Function)))

    def before_calls(values: Values) -> Iterator[Value]:
        return walk_back(
            values, lambda v: id(v) not in every and not isinstance(v, (Instance, Function))
        )

    for value in hand_written(plan):
        of = [
            argument.values
            for name in called_names(value)
            if name in plan.table.gradients_of
            if (argument := value.arguments.get(*plan.table.gradients_of[name])) is not None
        ]
        of_models = not of or any(
            isinstance(behind, Instance) or behind is model.value or is_layer(plan, behind)
            for values in of
            for behind in before_calls(values)
        )
        given = tuple(one for argument in value.arguments.items for one in argument.values)
        if of_models and any(id(behind) in own for behind in through(given)):
            return True
    return False


def calling_function(plan: Plan, model: Model) -> str:
    """The name of a function that calls a model with parameters that it is given; or empty."""
    for value in hand_written(plan):
        called = value.arguments.positional()[:1]
        if any(one is model.value for argument in called for one in argument.values):
            return next((name.rpartition(".")[2] for name in called_names(value)), "")
    return ""


def is_layer(plan: Plan, value: Value) -> bool:
    """Whether a value is a layer or parameter of the library."""
    return any(
        name.startswith(plan.table.layer_packages) and name.rpartition(".")[2][:1].isupper()
        for name in called_names(value)
    )
