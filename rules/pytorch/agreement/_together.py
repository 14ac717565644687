"""What all processes must do alike.

Either they wait for each other there, or they would not stay equal without doing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop, Stack
from transpile.facts.module import Module
from transpile.facts.values import (
    Arguments,
    Constant,
    External,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.flow.places import statement_of
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off, inside_module
from transpile.records import dataclass, field
from transpile.rules.pytorch.losses._chosen_losses import chosen_parts
from transpile.rules.pytorch.losses._evaluation import shared_loops
from transpile.rules.pytorch.losses._loss_scaling import Need, scalings
from transpile.rules.pytorch.losses._reductions import obstacle
from transpile.rules.pytorch.models._batch_norm import has_batch_norm

#: Calls of the script itself in which every process takes part.
COLLECTIVES = frozenset(
    f"torch.distributed.{word}"
    for word in (
        "all_reduce", "broadcast", "broadcast_object_list", "all_gather", "all_gather_object",
        "all_gather_into_tensor", "reduce", "reduce_scatter", "gather", "gather_object", "scatter",
        "scatter_object_list", "all_to_all", "barrier", "monitored_barrier",
    )
)  # fmt: skip
#: Those that leave the same in their first argument on every process.
AGREEING = frozenset(
    f"torch.distributed.{word}"
    for word in (
        "all_reduce", "broadcast", "broadcast_object_list", "all_gather", "all_gather_object",
        "all_gather_into_tensor",
    )
)  # fmt: skip
EXITS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "os._exit"})


@dataclass(frozen=True, eq=False)
class Step:
    """Something that all processes must do, or leave, together.

    Args:
        event: what happens.
        word: how to call it.
        key: equal for two places that may stand for each other.
        counts: how often it happens must be equal, too; not for forwards without gradients, which
            wait for each other once at most.
    """

    event: Event
    word: str
    key: tuple[object, ...]
    counts: bool = True


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


def training_steps(plan: Plan) -> Iterator[Step]:
    """Backward passes and optimizer steps."""
    for backward in plan.backwards:
        yield Step(backward.event, "backward pass", ("backward", *map(id, backward.models)))
    for optimizer in plan.optimizers:
        for event in optimizer.steps:
            yield Step(event, "optimizer step", ("step", id(optimizer)))


def reduction_steps(plan: Plan) -> Iterator[Step]:
    """Losses whose denominators are averaged over the processes."""
    places: dict[int, cst.CSTNode] = {}
    reduced_ones = [
        pending
        for scaling in scalings(plan)
        if scaling.need is Need.SCALE
        and not any(obstacle(plan, pending) for pending in scaling.pending)
        for pending in scaling.pending
    ]
    for pending in reduced_ones:
        statement = statement_of(pending.module, pending.node)
        if isinstance(statement, cst.SimpleStatementLine):
            around = arm_around(pending.module, pending.node) or statement
            places.update((id(node), pending.node) for node in descendants(around))
    seen: dict[int, int] = {}
    for event in plan.facts.events:
        reduced = places.get(id(event.node))
        if event.kind == "call" and reduced is not None and not event.detached:
            # One call of the statement stands for it, in all of its contexts.
            if seen.setdefault(id(reduced), id(event.node)) == id(event.node):
                yield Step(event, "average of a denominator", ("reduction", id(reduced)))


def arm_around(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The side of a conditional expression that a place stands on."""
    inner = node
    for outer in module.source.parents(node):
        if isinstance(outer, cst.IfExp) and inner is not outer.test:
            return inner
        if isinstance(outer, cst.SimpleStatementLine):
            return None
        inner = outer
    return None


def gradient_steps(plan: Plan) -> Iterator[Step]:
    """The parts of losses by which a model's gradients are averaged, on some paths only."""
    for event, model in chosen_parts(plan):
        yield Step(event, "average of the gradients", ("gradient", id(model)))


def conditional_expressions(steps: list[Step]) -> Iterator[tuple[Event, cst.IfExp]]:
    """The evaluation of what conditional expressions around some steps ask for."""
    for step in steps:
        module = step.event.module
        for position, frame in enumerate(step.event.stack):
            if isinstance(frame, Branch) and isinstance(frame.node, cst.IfExp):
                if module.source.has(frame.node):
                    yield asked(step, frame.node.test, module, position), frame.node


def asked(step: Step, test: cst.BaseExpression, module: Module, position: int) -> Event:
    """The evaluation of a condition that decides whether a step is reached."""
    event = step.event
    return Event(
        "test",
        test,
        module,
        event.stack[:position],
        (),
        Arguments(),
        (),
        "choice",
        event.order,
        event.detached,
    )


def evaluation_steps(plan: Plan) -> Iterator[Step]:
    """The evaluations that are sharded: what each process finds is put together after them."""
    for shared in shared_loops(plan):
        for event in shared.events:
            yield Step(event, "evaluation that is sharded", ("evaluation", id(shared.loop)))


def forward_steps(plan: Plan) -> Iterator[Step]:
    """Calls of trained models with buffers, which rank 0 hands to the others in each call."""
    alone = {id(shared.loop) for shared in shared_loops(plan)}
    for model in plan.trained_models:
        if not has_buffers(plan, model):
            continue
        for event in model.forwards:
            if any(id(frame.node) in alone for frame in event.loops()):
                # Each process calls the model itself there, without its wrap.
                continue
            if not inside_module(event.stack, plan.table):
                counts = not gradients_off(event.stack, plan.table)
                yield Step(event, "call of a trained model", ("forward", id(model)), counts)


def has_buffers(plan: Plan, model: Model) -> bool:
    """Whether a model has, or may have, something that is kept beside its parameters."""
    if has_batch_norm(plan, model) is not False:
        return True
    parts = {id(part) for part in walk_parts(model.value)}
    return any(
        isinstance(callee, Opaque)
        and callee.name == "register_buffer"
        and any(id(value) in parts for value in callee.operands[0])
        for event in plan.facts.calls
        for callee in event.callee
    )


def other_steps(plan: Plan) -> Iterator[Step]:
    """Loaded weights, changed learning rates, and collectives of the script's own."""
    optimizers = {id(optimizer.value) for optimizer in plan.optimizers}
    made = {id(optimizer.event.node) for optimizer in plan.optimizers}
    trained = {id(model.value) for model in plan.trained_models}
    for event in plan.facts.events:
        if event.kind == "store":
            if changes_rate(event, optimizers):
                yield Step(event, "change of the learning rate", ("rate",))
            continue
        if event.kind != "call":
            continue
        if id(event.node) in made:
            yield Step(event, "new optimizer", ("optimizer",))
        for callee in event.callee:
            if isinstance(callee, External) and callee.name in COLLECTIVES:
                yield Step(event, callee.name.replace("torch.distributed", "dist"), (callee.name,))
            if not isinstance(callee, Opaque) or callee.kind != "attribute":
                continue
            receivers = callee.operands[0]
            if callee.name == "load_state_dict":
                if any(
                    id(origin(v)) in trained or id(v) in optimizers or schedules(v, optimizers)
                    for v in receivers
                ):
                    yield Step(event, "load_state_dict", ("load", *map(id, receivers)))
            elif callee.name == "step" and any(schedules(v, optimizers) for v in receivers):
                yield Step(event, "scheduler step", ("schedule", *map(id, receivers)))


def schedules(value: Value, optimizers: set[int]) -> bool:
    """Whether a value is made of an optimizer outside of the project: a scheduler."""
    return (
        isinstance(value, Opaque)
        and value.kind == "call"
        and id(value) not in optimizers
        and any(id(v) in optimizers for item in value.arguments.items[:1] for v in item.values)
        and bool(called_names(value))
    )


def changes_rate(event: Event, optimizers: set[int]) -> bool:
    """Whether a store sets an item of an optimizer's parameter groups."""
    if event.name != "[]" or not isinstance(event.node, cst.Subscript):
        return False
    return any(
        isinstance(value, Opaque)
        and value.kind == "attribute"
        and value.name == "param_groups"
        and any(id(v) in optimizers for v in value.operands[0])
        for value in walk_back(event.callee, in_groups)
    )


def in_groups(value: Value) -> bool:
    """Whether the walk to an optimizer's groups goes on behind a value."""
    return isinstance(value, Opaque) and value.kind in ("item", "element", "attribute")


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
