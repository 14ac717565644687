"""Losses that the outputs of a model may be cut off from.

``max(loss, bound)`` takes one of its arguments, and a branch may leave a constant in the place of a
loss. A backward pass comes to the model's parameters then only where the loss uses them itself.
"""

from __future__ import annotations

from transpile.facts.values import Instance, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, parents, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import outputs
from transpile.plan.query import query

#: Functions that give one of their arguments.
PICKING = frozenset({"builtins.max", "builtins.min"})


@query
def may_be_cut_off(plan: Plan, model: Model) -> bool:
    """Whether a backward pass through a model may do without all that its calls give."""
    given = {id(value) for event in model.forwards for value in outputs(event)}
    gradients = plan.table.quantities.gradients

    def enters(value: Value) -> bool:
        return not isinstance(value, Instance) and gradients.isdisjoint(called_names(value))

    for backward in plan.backwards:
        if model not in backward.models or backward.event.detached:
            continue
        # What is reached through gradients alone, if at all, is no question of what is chosen.
        if any(id(value) in given for value in walk_back(backward.loss, enters)):
            if not is_sure(backward.loss, given, gradients):
                return True
    return False


@query
def takes_gradients(plan: Plan) -> bool:
    """Whether a loss is made of gradients, which not all parameters need to be part of."""
    return any(
        not plan.table.quantities.gradients.isdisjoint(called_names(value))
        for backward in plan.backwards
        for value in walk_back(backward.loss, lambda value: not isinstance(value, Instance))
    )


def is_sure(loss: Values, given: set[int], gradients: frozenset[str]) -> bool:
    """Whether a loss is made of some given values whatever is chosen on the way.

    Args:
        loss: the loss.
        given: the identities of the values.
        gradients: functions that give gradients, in which the values themselves may not be.
    """
    behind = list(
        walk_back(loss, lambda value: id(value) not in given and not isinstance(value, Instance))
    )
    sure = {id(value) for value in behind}

    def all_sure(group: Values) -> bool:
        return bool(group) and all(id(value) in sure for value in without_starts(group))

    changed = True
    while changed:
        # What stands in a loop is made of itself: it is sure until something shows otherwise.
        changed = False
        for value in behind:
            if id(value) not in sure or id(value) in given:
                continue
            groups = groups_of(value)
            names = called_names(value)
            picks = bool(PICKING.intersection(names))
            if (
                gradients.intersection(names)
                or not groups
                or not (all if picks else any)(map(all_sure, groups))
            ):
                sure.discard(id(value))
                changed = True
    return all_sure(loss)


def groups_of(value: Value) -> list[Values]:
    """What a value is made of; of a function that picks, what it picks among."""
    # What is added to itself in a loop is no more of a value than what it began with.
    others = (tuple(one for one in group if one is not value) for group in parents(value))
    groups = [group for group in others if group]
    if not isinstance(value, Opaque) or not PICKING.intersection(called_names(value)):
        return [] if isinstance(value, Instance) else groups
    found: list[Values] = []
    for item in value.arguments.items:
        if item.keyword:
            continue
        lists = [one for one in item.values if isinstance(one, Sequence)]
        if len(lists) != len(item.values):
            found.append(item.values)
        for one in lists:
            found.extend(group for group in (*one.elements, one.rest) if group)
    return found


def without_starts(group: Values) -> Values:
    """Alternatives without those that a loop only begins with, to add to them."""
    begins = {
        id(one)
        for value in group
        if isinstance(value, Opaque) and value.kind == "operation"
        for operand in value.operands
        if any(one is value for one in operand)
        for one in operand
        if one is not value
    }
    return tuple(value for value in group if id(value) not in begins)
