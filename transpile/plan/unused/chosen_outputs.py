"""Outputs of a model that a loss may do without, and with them the layers that make them alone."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import External, Instance, Opaque, Value, Values
from transpile.plan.flow.conditions import controls
from transpile.plan.flow.places import ancestors
from transpile.plan.graph import made_of, parents
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.learning import outputs

#: Functions that give one of their arguments.
CHOOSING = frozenset({External("builtins.min"), External("builtins.max")})
LOOPS = (cst.For, cst.While, cst.BaseComp)


def chooses_outputs(plan: Plan, backward: Backward, model: Model, layers: list[Value]) -> bool:
    """Whether a loss uses some layers of a model by outputs that it does without in some steps.

    Args:
        plan: the plan.
        backward: the backward pass of the loss.
        model: the model.
        layers: those of its layers that have parameters.
    """
    if backward.event.detached or model not in backward.models:
        return False
    common = {id(each) for each in (*tests_of(backward.event), *loops_of(backward.event))}
    reading = Reading(model, layers, common)
    given = [value for event in model.forwards for value in outputs(event) if reading.of(value)]
    if len({reading.of(value) for value in given}) < 2:
        # All outputs come from the same layers: any of them reaches them all.
        return False
    reading.certain(backward.loss)
    return reading.chosen


class Reading:
    """Finds the layers that values come from whatever the tests on the way decide.

    Args:
        model: the model.
        layers: its layers with parameters.
        common: the tests and loops, by identity, that the backward pass depends on, too.
    """

    def __init__(self, model: Model, layers: list[Value], common: set[int]) -> None:
        self.layers = {id(layer) for layer in layers}
        self.given = {id(value) for event in model.forwards for value in outputs(event)}
        self.common = common
        self.known: dict[int, frozenset[int]] = {}
        self.made: dict[int, frozenset[int]] = {}
        #: Whether there are layers that some alternative does without.
        self.chosen = False

    def of(self, value: Value) -> frozenset[int]:
        """The layers that an output is made by."""
        found = self.made.get(id(value))
        if found is None:
            found = self.made[id(value)] = frozenset(made_of((value,)) & self.layers)
        return found

    def certain(self, values: Values, user: Value | None = None) -> frozenset[int]:
        """The layers behind alternatives; those of all of them, where tests tell them apart.

        Args:
            values: the alternatives.
            user: what is computed from one of them.
        """
        found = [(value, self.of_one(value)) for value in values]
        every = frozenset().union(*(layers for _, layers in found))
        if len(found) < 2:
            return every
        common = frozenset.intersection(*(layers for _, layers in found))
        richer = [value for value, layers in found if layers - common]
        if richer and all(self.is_chosen(value, user) for value in richer):
            self.chosen = True
            return common
        return every

    def of_one(self, value: Value) -> frozenset[int]:
        """The layers that are certainly behind one value."""
        known = self.known.get(id(value))
        if known is not None:
            return known
        self.known[id(value)] = frozenset()
        if id(value) in self.given:
            found = self.of(value)
        elif isinstance(value, Instance):
            found = frozenset()
        elif isinstance(value, Opaque) and CHOOSING & {*value.callee}:
            given = tuple(one for item in value.arguments.items for one in item.values)
            found = frozenset.intersection(*map(self.of_one, given)) if given else frozenset()
            self.chosen = self.chosen or any(self.of_one(one) - found for one in given)
        else:
            behind = (self.certain(group, value) for group in parents(value))
            found = frozenset({id(value)} & self.layers).union(*behind)
        self.known[id(value)] = found
        return found

    def is_chosen(self, value: Value, user: Value | None) -> bool:
        """Whether an alternative is one by a test that the backward pass does not depend on.

        An output itself is one where nothing goes over all of them.
        """
        if id(value) in self.given:
            return user is not None and not any(
                id(each) not in self.common for each in loops_of(user)
            )
        return isinstance(value, Opaque) and any(
            id(test) not in self.common for test in tests_of(value)
        )


def tests_of(place: object) -> list[cst.CSTNode]:
    """The tests within its function that a place is reached by."""
    module, node = getattr(place, "module", None), getattr(place, "node", None)
    if module is None or node is None or not module.source.has(node):
        return []
    return list(controls(module, node))


def loops_of(place: object) -> list[cst.CSTNode]:
    """The loops and comprehensions within its function around a place."""
    module, node = getattr(place, "module", None), getattr(place, "node", None)
    if module is None or node is None or not module.source.has(node):
        return []
    return [around for around in ancestors(module, node) if isinstance(around, LOOPS)]
