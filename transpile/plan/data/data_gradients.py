"""Gradients of data, such as those of an attack on its inputs: no parameter is among them."""

from __future__ import annotations

from transpile.facts.values import Constant, External, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, is_instance_of, method_calls, walk_back
from transpile.plan.known import is_known
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.table import Table

#: Random numbers of others than the framework.
RANDOM = ("random.", "numpy.random.")


def of_data_alone(gradient: Opaque, plan: Plan) -> bool:
    """Whether no gradient of a call is that of a parameter, as far as is certain.

    Such gradients belong to the samples of one process, or are taken of what no process has for
    itself alone: there is nothing to average.

    Args:
        gradient: the result of the function that takes gradients.
        plan: the plan.
    """
    table = plan.table
    inputs = [
        argument.values
        for name in called_names(gradient)
        if name in table.gradients_of
        if (argument := gradient.arguments.get(*table.gradients_of[name])) is not None
    ]
    if not inputs or not all(are_data(values, table, frozenset()) for values in inputs):
        return False
    return all(is_made_of_samples(values, table) for values in inputs) or is_alike(gradient, plan)


def is_alike(value: Opaque, plan: Plan) -> bool:
    """Whether a value is the same on all processes: of no batch, no library that is not known.

    Random numbers are where they are drawn once, in front of all loops.
    """
    for behind in walk_back((value,)):
        if id(behind) in plan.samples:
            return False
        if not isinstance(behind, Opaque):
            continue
        names = called_names(behind)
        if any(name in plan.table.loader_parameters or not is_known(plan, name) for name in names):
            return False
        drawn = any(name in plan.table.draws or name.startswith(RANDOM) for name in names)
        if drawn and id(behind) in made_in_loops(plan):
            return False
    return True


@query
def made_in_loops(plan: Plan) -> set[int]:
    """The identities of what calls give that stand in loops, or in a function called in one."""
    return {
        id(value)
        for event in plan.facts.calls
        if any(True for _ in event.loops())
        for value in event.result
    }


def is_made_of_samples(values: Values, table: Table) -> bool:
    """Whether each value is computed from what a loader gives."""
    return all(
        any(
            name in table.loader_parameters
            for behind in walk_back((value,))
            for name in called_names(behind)
        )
        for value in values
    )


def are_data(values: Values, table: Table, above: frozenset[int]) -> bool:
    """Whether values are certainly no parameters, and not computed from any but by a model."""
    return bool(values) and all(is_data(value, table, above) for value in values)


def is_data(value: Value, table: Table, above: frozenset[int]) -> bool:
    """Whether a value is made of samples, numbers and gradients of samples alone."""
    if id(value) in above or isinstance(value, (Constant, External)):
        return True
    above = above | {id(value)}
    if isinstance(value, Sequence):
        return all(are_data(each, table, above) for each in (*value.elements, value.rest) if each)
    if not isinstance(value, Opaque):
        return False
    if any(name in table.loader_parameters for name in called_names(value)):
        return True
    if any(name in table.gradients_of for name in called_names(value)):
        return inputs_are_data(value, table, above)
    if value.kind == "call":
        methods = method_calls(value)
        if any(name in table.parameter_methods for name, _ in methods):
            return False
        received = [receiver for _, receiver in methods]
        if not methods and not is_computed_outside(value, table):
            return False
        given = [argument.values for argument in value.arguments.items]
        return all(are_data(each, table, above) for each in (*received, *given))
    if is_instance_of(value, table.module_bases):
        return False
    return all(are_data(each, table, above) for each in value.operands if each)


def inputs_are_data(gradient: Opaque, table: Table, above: frozenset[int]) -> bool:
    """Whether a gradient is that of data, in the course of finding that out of another."""
    return all(
        are_data(argument.values, table, above)
        for name in called_names(gradient)
        if name in table.gradients_of
        if (argument := gradient.arguments.get(*table.gradients_of[name])) is not None
    )


def is_computed_outside(value: Opaque, table: Table) -> bool:
    """Whether a library's function makes a new value, and no parameter."""
    names = called_names(value)
    learns = value.arguments.keyword("requires_grad")
    return (
        bool(names)
        and not any(name.startswith(table.layer_packages) for name in names)
        and (learns is None or bool(value.arguments.positional()))
    )
