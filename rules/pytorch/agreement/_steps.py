"""The steps of a training that processes take together."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import (
    Arguments,
    Constant,
    External,
    Opaque,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.flow.places import statement_of
from transpile.plan.graph import called_names, origin, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.roles.surroundings import gradients_off, inside_module
from transpile.records import dataclass
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


def training_steps(plan: Plan) -> Iterator[Step]:
    """Backward passes and optimizer steps."""
    for backward in plan.backwards:
        yield Step(backward.event, "backward pass", ("backward", *map(id, backward.models)))
    for optimizer in plan.optimizers:
        for event in optimizer.steps:
            yield Step(event, "optimizer step", ("step", id(optimizer)))


def reduction_steps(plan: Plan) -> Iterator[Step]:
    """Losses whose denominators are averaged over the processes."""
    if plan.by_hand:
        return
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
    for event, model in () if plan.by_hand else chosen_parts(plan):
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
                yield Step(event, "change of the learning rate", ("rate", *told(event.result)))
            continue
        if event.kind != "call":
            continue
        if id(event.node) in made:
            yield Step(event, "new optimizer", ("optimizer", *given(event)))
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
                    yield Step(
                        event, "load_state_dict", ("load", *map(id, receivers), *given(event))
                    )
            elif callee.name == "step" and any(schedules(v, optimizers) for v in receivers):
                yield Step(
                    event, "scheduler step", ("schedule", *map(id, receivers), *given(event))
                )


def given(event: Event) -> Iterator[object]:
    """What a call is given, so that calls that are given the same are the same."""
    for item in event.arguments.items:
        yield item.keyword
        yield from told(item.values)


def told(values: Values) -> Iterator[object]:
    """Numbers and texts by what they are, others by their identity."""
    for value in values:
        yield (type(value.value), value.value) if isinstance(value, Constant) else id(value)


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
