"""Gradients of tensors without a model that a script itself moves something along."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.noise import changes, models_of
from transpile.quantity.asking import Analysis, Kind
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of a plan that no wrap averages and no sample has of its own."""

    plan: Plan
    analysis: Analysis

    def among(self, values: Values) -> Opaque | None:
        """The first of them that some values are made of."""
        found = (one for one in walk_back(values) if isinstance(one, Opaque) and self.has(one))
        return next(found, None)

    def has(self, value: Opaque) -> bool:
        """Whether a value is one."""
        if value.kind != "attribute" or value.name != "grad":
            return False
        tensor = value.operands[0]
        # Of what nothing is known, the tensor may be a sample that an attack moves.
        is_tensor = self.analysis.of(tensor).kind in (Kind.EQUAL, Kind.NOTHING)
        return is_tensor and not any(True for _ in models_of(self.plan, tensor))


def used_by_hand(plan: Plan, analysis: Analysis) -> Iterator[Opaque]:
    """Each such gradient that a loss, or a change in training, is made of.

    Args:
        plan: the plan.
        analysis: the quantities of its values.
    """
    gradients = Gradients(plan, analysis)
    held = {id(one) for optimizer in plan.optimizers for one in optimizer.tensors}
    loops = {id(loop.node) for each in plan.backwards for loop in each.event.loops()}
    made: list[Values] = [value for each in plan.backwards for value in [each.loss]]
    for event in plan.facts.events:
        if event.kind == "store" and event.name == "grad":
            # A gradient that takes the place of another moves nothing.
            continue
        if not event.detached and any(id(loop.node) in loops for loop in event.loops()):
            made.extend(by for _, by, _ in changes(plan, event))
    seen: set[int] = set()
    for values in made:
        found = gradients.among(values)
        if found is None or id(found.node) in seen:
            continue
        seen.add(id(found.node))
        if not any(id(one) in held for one in walk_back(found.operands[0])):
            yield found
