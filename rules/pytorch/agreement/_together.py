"""What all processes must do alike.

Either they wait for each other there, or they would not stay equal without doing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop, Stack
from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Values,
)
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass, field
from transpile.rules.pytorch.agreement._steps import (
    COLLECTIVES,
    Step,
    asked,
    conditional_expressions,
    evaluation_steps,
    forward_steps,
    gradient_steps,
    other_steps,
    reduction_steps,
    training_steps,
)

#: Those that leave the same in their first argument on every process.
AGREEING = frozenset(
    f"torch.distributed.{word}"
    for word in (
        "all_reduce", "broadcast", "broadcast_object_list", "all_gather", "all_gather_object",
        "all_gather_into_tensor",
    )
)  # fmt: skip
EXITS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "os._exit"})


@dataclass(eq=False)
class Condition:
    """A condition of an ``if``, a ``while`` or a conditional expression and what depends on it.

    Args:
        event: its evaluation, in one context.
        node: the statement.
        test: the condition.
        guarded: steps on an arm, with the arm; those in the body of a ``while`` with ``body``.
        exits: what leaves a loop, a function or the script on an arm, past steps.
    """

    event: Event
    node: cst.If | cst.While | cst.IfExp
    test: cst.BaseExpression
    guarded: list[tuple[str, Step]] = field(default_factory=list)
    exits: list[tuple[str, Event, Step]] = field(default_factory=list)

    @property
    def decides(self) -> bool:
        """Whether processes that answer differently do different things."""
        if self.exits or isinstance(self.node, cst.While):
            return bool(self.exits or self.guarded)
        arms: dict[str, Counter[tuple[object, ...]]] = {"then": Counter(), "else": Counter()}
        seen: set[tuple[str, int]] = set()
        for arm, step in self.guarded:
            if (arm, id(step.event.node)) not in seen:
                seen.add((arm, id(step.event.node)))
                arms[arm][step.key] += 1
        return arms["then"] != arms["else"]

    @property
    def step(self) -> Step:
        """One of the steps that depend on it, the most telling first."""
        steps = [step for _, step in self.guarded] + [step for _, _, step in self.exits]
        return min(steps, key=lambda step: (not step.counts, step.event.order))


@query
def steps_of(plan: Plan) -> list[Step]:
    """Everything that the processes must do together, in the order of the run."""
    found = [*training_steps(plan), *reduction_steps(plan)]
    found.extend([*forward_steps(plan), *other_steps(plan)])
    found.extend(evaluation_steps(plan))
    found.sort(key=lambda step: step.event.order)
    return found


@query
def conditions_of(plan: Plan) -> list[Condition]:
    """The conditions on which steps depend, outer ones before those inside them."""
    found: dict[int, Condition] = {}
    for event in plan.facts.tests:
        if id(event.node) in found:
            continue
        statement = event.module.source.parent(event.node)
        if isinstance(statement, (cst.If, cst.While)):
            assert isinstance(event.node, cst.BaseExpression)
            found[id(event.node)] = Condition(event, statement, event.node)
    steps = steps_of(plan)
    for event in first_rounds(steps):
        if id(event.node) not in found:
            statement = event.module.source.parent(event.node)
            assert isinstance(statement, cst.While)
            found[id(event.node)] = Condition(event, statement, statement.test)
    losses = [*reduction_steps(plan), *gradient_steps(plan)]
    for event, choice in conditional_expressions(losses):
        found.setdefault(id(choice.test), Condition(event, choice, choice.test))
    by_statement = {id(condition.node): condition for condition in found.values()}
    for step in [*steps, *(step for step in losses if step.key[0] == "gradient")]:
        for frame in step.event.stack:
            condition = by_statement.get(id(getattr(frame, "node", None)))
            if condition is None:
                continue
            if isinstance(frame, Branch):
                condition.guarded.append((frame.arm, step))
            elif isinstance(frame, Loop) and step.counts:
                condition.guarded.append(("body", step))
    for event in plan.facts.events:
        passed = passed_by(plan, event, steps)
        if passed is None:
            continue
        for frame in event.stack[left_from(event) :]:
            condition = by_statement.get(id(getattr(frame, "node", None)))
            if condition is not None and isinstance(frame, Branch):
                condition.exits.append((frame.arm, event, passed))
    return sorted(
        (condition for condition in found.values() if condition.guarded or condition.exits),
        key=lambda condition: condition.event.order,
    )


def first_rounds(steps: list[Step]) -> Iterator[Event]:
    """The evaluation of conditions of loops that are certainly true in the first round."""
    for step in steps:
        for position, frame in enumerate(step.event.stack):
            if isinstance(frame, Loop) and isinstance(frame.node, cst.While):
                test = frame.node.test
                if is_always(test):
                    continue
                yield asked(step, test, frame.module, position)


def is_always(test: cst.BaseExpression) -> bool:
    """Whether a condition is a literal."""
    if isinstance(test, cst.Name):
        return test.value in ("True", "False")
    return isinstance(test, cst.BaseNumber)


def left_from(event: Event) -> int:
    """Where in the stack of an exit the part begins that it leaves."""
    if event.kind == "call" or event.name == "raise":
        return 0
    kinds = (Loop,) if event.name in ("break", "continue") else (Call,)
    for position in range(len(event.stack) - 1, -1, -1):
        if isinstance(event.stack[position], kinds):
            return position
    return 0


def passed_by(plan: Plan, event: Event, steps: list[Step]) -> Step | None:
    """A step that does not happen any more because of an exit; None for anything else."""
    if event.kind == "call":
        if not ends_quietly(event):
            return None
    elif event.kind != "exit" or (event.name == "raise" and not is_caught(event.stack)):
        return None
    inside = event.stack[: left_from(event) + 1]
    loops = [frame for frame in event.stack[left_from(event) :] if isinstance(frame, Loop)]
    if event.name in ("continue",):
        loops = []
    for step in steps:
        if not step.counts or step.event is event:
            continue
        if any(same_frame(frame, loop) for frame in step.event.stack for loop in loops):
            return step
        if step.event.order > event.order and within(step.event.stack, inside, event):
            return step
    return None


def within(stack: Stack, inside: Stack, event: Event) -> bool:
    """Whether a place lies in what an exit leaves."""
    if event.kind == "call" or event.name == "raise":
        return True
    if not inside or not isinstance(inside[-1], (Loop, Call)):
        return event.function() is None
    return any(same_frame(frame, inside[-1]) for frame in stack)


def same_frame(first: object, second: object) -> bool:
    """Whether two frames stand for the same loop or the same call."""
    if isinstance(first, Loop) and isinstance(second, Loop):
        return first.node is second.node
    if isinstance(first, Call) and isinstance(second, Call):
        return first.node is second.node and first.function is second.function
    return False


def ends_quietly(event: Event) -> bool:
    """Whether a call ends this process without an error that would end the others, too."""
    if not any(isinstance(callee, External) and callee.name in EXITS for callee in event.callee):
        return False
    status = event.arguments.get("status", 0)
    if status is None:
        return True
    return all(v == Constant(0) or v == Constant(None) for v in status.values)


def is_caught(stack: Stack) -> bool:
    """Whether an exception at a place is caught by the script."""
    return any(
        isinstance(frame, Branch)
        and frame.arm == "body"
        and isinstance(frame.node, cst.Try)
        and bool(frame.node.handlers)
        for frame in stack
    )


@query
def agreed_values(plan: Plan) -> set[int]:
    """The identities of values that the script itself makes equal on every process."""
    found: set[int] = set()
    for event in plan.facts.calls:
        if agrees(event.callee) and event.arguments.items:
            for value in event.arguments.items[0].values:
                found.add(id(value))
                for element in getattr(value, "elements", ()):
                    found.update(id(v) for v in element if isinstance(v, (Opaque, Instance)))
    return found


def agrees(callees: Values) -> bool:
    """Whether a call leaves the same in its first argument on every process."""
    return any(isinstance(callee, External) and callee.name in AGREEING for callee in callees)


@query
def agreeing_calls(plan: Plan) -> set[int]:
    """The calls of functions that give every process the same answer."""
    found: set[int] = set()
    busy: set[int] = set()
    for event in plan.facts.calls:
        if agrees(event.callee):
            frames = [frame for frame in event.stack if isinstance(frame, Call)]
            if frames and frames[-1].node is not None:
                found.add(id(frames[-1].node))
    for step in steps_of(plan):
        if step.key[0] not in COLLECTIVES:
            busy.update(id(f.node) for f in step.event.stack if isinstance(f, Call))
    return found - busy
