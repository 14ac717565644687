"""Where a script gathers the gradients of several batches before its optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.plan.flow.places import (
    Statement,
    index_in,
    statement_in,
)
from transpile.plan.graph import called_names, method_calls, origin
from transpile.plan.hooks.gradient_reads import first_read
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.averaging import GRADIENT_READERS
from transpile.plan.models.learning import training_forwards
from transpile.records import dataclass
from transpile.rules.pytorch.agreement._divergence import Divergence
from transpile.rules.pytorch.gradients._window_tests import (
    Window,
    asked_of,
    assigned,
    counting_test,
    find_condition,
)
from transpile.rules.pytorch.processes._script_arguments import is_path


@dataclass(frozen=True, eq=False)
class MicroStep:
    """The part of the loop that computes one batch's gradients.

    Args:
        first: the statement of its first forward pass.
        last: the statement of its backward pass, a sibling or the same.
        model: the expression of the model.
        condition: the expression, read before `first`, that is true where the optimizer steps.
    """

    first: Statement
    last: Statement
    model: str
    condition: str


def windows(plan: Plan, model: Model) -> Iterator[Window]:
    """The windows over which gradients of a model are gathered, one for each backward pass."""
    for backward in backwards_of(plan, model):
        loop = backward.batch_loop
        if loop is None:
            continue
        steps = [step for step in steps_of(model) if is_in(step, loop)]
        if not steps and steps_behind(plan, model, backward, loop):
            yield Window(loop.module, loop, None)
        for step in steps:
            test = counting_test(step, loop)
            if test is not None and not asked_of(backward.event, test):
                yield Window(loop.module, loop, test)


def steps_behind(plan: Plan, model: Model, backward: Backward, loop: Loop) -> bool:
    """Whether the gradients of all rounds of a loop are for a step that follows it."""
    if not any(is_in(forward, loop) for forward in training_forwards(plan, model)):
        return False
    return any(
        step.order > backward.event.order
        and all(is_in(step, around) for around in backward.epoch_loops[-1:])
        for step in steps_of(model)
    )


def backwards_of(plan: Plan, model: Model) -> list[Backward]:
    """The backward passes that go through a model."""
    return [
        backward
        for backward in plan.backwards
        if model in backward.models and not backward.event.detached
    ]


def steps_of(model: Model) -> list[Event]:
    """The steps that update a model."""
    return [step for optimizer in model.optimizers for step in optimizer.steps if not step.detached]


def is_in(event: Event, loop: Loop) -> bool:
    """Whether an event happens inside a loop."""
    return any(frame.node is loop.node for frame in event.loops())


def find_micro_step(plan: Plan, model: Model, window: Window) -> MicroStep | str:
    """The micro step that belongs to a window, or why it is not certain where it is."""
    test = window.test
    if test is None:
        return "the optimizer does not step in the loop over the batches"
    steps = steps_of(model)
    if any(not under(step, test) for step in steps):
        return "the optimizer also steps elsewhere"
    block = window.module.source.parent(test)
    if not isinstance(block, cst.IndentedBlock):
        return "the test of the step is part of another one"
    region = find_region(plan, model, window.module, block, test)
    if isinstance(region, str):
        return region
    first, last, text = region
    reader = early_reader(plan, model, window, test)
    if reader:
        return f"'{reader}' looks at gradients between the steps"
    condition = find_condition(plan, window, block, test, first)
    if condition is None:
        return "the test of the step cannot be asked for before the forward pass"
    if Divergence(plan, 0).cause(window.module, test.test) is not None:
        return "the test of the step may differ between processes"
    return MicroStep(first, last, text, condition)


def under(step: Event, test: cst.If) -> bool:
    """Whether a step happens in the body of an ``if``."""
    return any(
        isinstance(frame, Branch) and frame.node is test and frame.arm == "then"
        for frame in step.stack
    )


def find_region(
    plan: Plan, model: Model, module: Module, block: cst.IndentedBlock, test: cst.If
) -> tuple[Statement, Statement, str] | str:
    """The statements of the first forward and of the backward pass, and the model's expression."""
    backwards = backwards_of(plan, model)
    forwards = training_forwards(plan, model)
    called = {id(forward.node) for forward in forwards}
    for backward in backwards:
        for other in backward.models:
            # The variable may hold one of several models, made on different branches.
            if other.trained and called != {id(e.node) for e in training_forwards(plan, other)}:
                return "the backward pass goes through several models"
    texts = set()
    positions = []
    for forward in forwards:
        statement = statement_in(module, block, forward.node)
        if statement is None or not isinstance(forward.node, cst.Call):
            return "the model is called elsewhere than beside the test of the step"
        if not is_path(forward.node.func):
            return "the model is not called through a variable"
        texts.add(module.source.code(forward.node.func))
        positions.append(index_in(block, statement))
    behind = set()
    for backward in backwards:
        statement = statement_in(module, block, backward.event.node)
        if statement is None:
            return "the backward pass is elsewhere than beside the test of the step"
        behind.add(index_in(block, statement))
    if len(texts) != 1 or not positions or len(behind) != 1:
        return "there are several models or backward passes"
    first, last = block.body[min(positions)], block.body[behind.pop()]
    if max(positions) > index_in(block, last) or index_in(block, last) >= index_in(block, test):
        return "the test of the step does not follow the backward pass"
    if not always(last, [backward.event.node for backward in backwards]):
        return "the backward pass is not run in every round"
    text = texts.pop()
    if text in assigned(module, block.body[min(positions) : index_in(block, last) + 1]):
        return "the model's variable changes"
    return first, last, text  # type: ignore[return-value]


def always(node: cst.CSTNode, wanted: list[cst.CSTNode]) -> bool:
    """Whether running a statement runs one of the wanted nodes, whichever way it takes."""
    if isinstance(node, cst.SimpleStatementLine):
        return any(found in wanted for found in descendants(node))
    if isinstance(node, cst.With):
        return always(node.body, wanted)
    if isinstance(node, cst.If):
        return node.orelse is not None and always(node.body, wanted) and always(node.orelse, wanted)
    if isinstance(node, (cst.IndentedBlock, cst.Else)):
        body = node.body if isinstance(node, cst.IndentedBlock) else (node.body,)
        return any(always(statement, wanted) for statement in body)
    return False


def early_reader(plan: Plan, model: Model, window: Window, test: cst.If) -> str:
    """What looks at gradients in the loop, but not where the optimizer steps."""
    for event in plan.facts.calls:
        if not is_in(event, window.loop) or under(event, test):
            continue
        for callee in event.callee:
            if isinstance(callee, (External, Opaque)):
                word = callee.name.rpartition(".")[2]
                if word in GRADIENT_READERS or is_given(plan, model, event, callee):
                    return word
    stepping = {id(node) for node in descendants(test.body)}
    between = {id(node) for node in descendants(window.loop.node)} - stepping
    found = first_read(
        plan,
        lambda node: id(node) in between,
        lambda event: is_in(event, window.loop) and not under(event, test),
    )
    return ".grad" if found is not None else ""


def is_given(plan: Plan, model: Model, event: Event, callee: External | Opaque) -> bool:
    """Whether another library than the framework is, or was, given the model or its parameters."""
    given = [value for item in event.arguments.items for value in item.values]
    names = {callee.name} if isinstance(callee, External) else set()
    if isinstance(callee, Opaque) and callee.kind == "attribute":
        for owner in callee.operands[0]:
            names.update(called_names(owner))
            if isinstance(owner, Opaque) and owner.kind == "call":
                given += [value for item in owner.arguments.items for value in item.values]
    if all(name.startswith(("torch.", "builtins.")) for name in names):
        return False
    return any(
        origin(value) is model.value
        or any(
            name in plan.table.parameter_methods and model.value in map(origin, receiver)
            for name, receiver in method_calls(value)
        )
        for value in given
    )
