"""What is to be decided by rank 0, and where."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.plan.flow.conditions import assigned, choices, controls_of
from transpile.plan.flow.entering import set_up_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.agreement._divergence import Cause, Divergence, loop_position
from transpile.rules.pytorch.agreement._together import Condition, conditions_of, steps_of
from transpile.rules.pytorch.randomness.vary_random_numbers import training_loop


@dataclass(frozen=True, eq=False)
class Agreement:
    """An expression that becomes equal on all processes.

    Args:
        module: where it stands.
        node: the expression.
        helper: the function that it is given to.
    """

    module: Module
    node: cst.BaseExpression
    helper: str


@dataclass(frozen=True, eq=False)
class Decision:
    """A condition that the processes must agree on.

    Args:
        module: where it stands.
        test: the condition.
        part: the part of it that may differ.
        cause: why it may.
        matter: what depends on it.
        condition: the steps that do.
    """

    module: Module
    test: cst.BaseExpression
    part: cst.BaseExpression
    cause: Cause
    matter: str
    condition: Condition | None = None


class Decisions:
    """Collects the conditions that the processes must agree on.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.divergence = Divergence(plan, loop_position(plan, training_loop(plan)))
        self.conditions = conditions_of(plan)
        self.by_test = {id(condition.test): condition for condition in self.conditions}
        self.joined = joined(plan)
        self.found: list[Decision] = []

    def collect(self) -> list[Decision]:
        """All of them, in the order of the text."""
        divergence = self.divergence
        for step in steps_of(self.plan):
            if step.key[0] in ("load", "rate"):
                matter = "what is loaded" if step.key[0] == "load" else "the learning rate"
                for source in sources(step.event):
                    for module, test in divergence.setting_tests(step.event.module, source):
                        self.require(module, test, matter)
                    for test in choices(source):
                        self.require(step.event.module, test, matter)
        deciding = [condition for condition in self.conditions if condition.decides]
        # What is computed first: counters that were set on such a condition are equal then.
        computed = [c for c in deciding if divergence.look(c.event.module, c.test).causes]
        for condition in (*computed, *deciding):
            self.require(condition.event.module, condition.test, matter_of(condition))
        return sorted(self.found, key=place_of)

    def require(self, module: Module, test: cst.CSTNode, matter: str) -> None:
        """Ask for agreement, and first on the conditions that decide whether it is reached."""
        divergence = self.divergence
        cause = divergence.cause(module, test)
        condition = self.by_test.get(id(test))
        if cause is None or not isinstance(test, cst.BaseExpression):
            return
        if cause is Cause.PRESENCE and not (condition is not None and loads(condition)):
            return
        part = differing_part(divergence, module, test)
        divergence.agree(test)
        for event in divergence.happening.get(id(test), ()):
            for outer_module, outer in controls_of(event):
                self.require(outer_module, outer, f"whether {matter} is decided on")
        self.found.append(Decision(module, test, part, cause, matter, condition))

    def happens(self, decision: Decision) -> list[Event]:
        """The evaluations of a condition."""
        found: list[Event] = self.divergence.happening.get(id(decision.test), [])
        if not found and decision.condition is not None:
            return [decision.condition.event]
        return found


def place_of(decision: Decision) -> tuple[str, int]:
    """Where a decision stands."""
    return decision.module.name, decision.module.source.span(decision.test).start


def matter_of(condition: Condition) -> str:
    """What depends on a condition."""
    if condition.exits:
        skips = all(event.name == "continue" for _, event, _ in condition.exits)
        return "whether a round is skipped" if skips else "whether the training goes on"
    step = condition.step
    known = {
        "load": "what is loaded",
        "rate": "the learning rate",
        "schedule": "the learning rate",
        "optimizer": "which optimizer is used",
    }
    return known.get(str(step.key[0]), f"whether a process takes part in the {step.word}")


def loads(condition: Condition) -> bool:
    """Whether weights are loaded on a condition."""
    return any(step.key[0] == "load" for _, step in condition.guarded)


def sources(event: Event) -> list[cst.BaseExpression]:
    """The expressions whose values an event puts into an object."""
    if isinstance(event.node, cst.Call):
        return [arg.value for arg in event.node.args[:1]]
    value = assigned(event)
    return [value] if value is not None else []


def joined(plan: Plan) -> int:
    """The position from which on the processes know each other."""
    starts = [
        event.order
        for event in plan.facts.calls
        if any(getattr(c, "name", "") in plan.table.distributed_starts for c in event.callee)
    ]
    if starts:
        return min(starts)
    set_up = set_up_of(plan)
    return set_up.order if set_up is not None else 0


def differing_part(
    divergence: Divergence, module: Module, node: cst.BaseExpression
) -> cst.BaseExpression:
    """The part of a condition that may differ: the rest is short-circuited alike everywhere."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return differing_part(divergence, module, node.expression)
    if isinstance(node, cst.BooleanOperation):
        left = divergence.cause(module, node.left)
        right = divergence.cause(module, node.right)
        if left is None and right is not None:
            return differing_part(divergence, module, node.right)
        if right is None and left is not None:
            return differing_part(divergence, module, node.left)
    return node
