"""Where a script gathers the gradients of several batches before its optimizer steps."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import (
    Statement,
    ancestors,
    function_of,
    index_in,
    statement_in,
)
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.learning import training_forwards
from transpile.records import dataclass
from transpile.rules.pytorch.agreement._divergence import Divergence
from transpile.rules.pytorch.processes._script_arguments import is_path

#: Functions that may stand in the test of a window: they only compute.
PLAIN_FUNCTIONS = frozenset({"len", "int", "max", "min", "bool"})
#: What reads or changes gradients before they are those of all processes.
GRADIENT_READERS = frozenset(
    {"clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "unscale_", "grad"}
)


@dataclass(frozen=True, eq=False)
class Window:
    """The test under which the optimizer steps.

    Args:
        module: where it is.
        loop: the loop over the batches.
        test: the statement whose body steps; None where the step follows the loop.
    """

    module: Module
    loop: Loop
    test: cst.If | None


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
            if test is not None:
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


def counting_test(step: Event, loop: Loop) -> cst.If | None:
    """The outermost ``if`` inside the loop that a step is under and that tests a counter of it."""
    inside = False
    counted = counters(loop)
    for frame in step.stack:
        if isinstance(frame, Loop) and frame.node is loop.node:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            if not loop.module.source.has(frame.node):
                # It stands in a function of another module.
                continue
            texts = {loop.module.source.code(leaf) for leaf in leaves(frame.node.test)}
            if texts & counted and loop.node in ancestors(loop.module, frame.node):
                return frame.node
    return None


def counters(loop: Loop) -> set[str]:
    """The variables that count the rounds of a loop."""
    source = loop.module.source
    found: set[str] = set()
    if isinstance(loop.node, cst.For):
        target: cst.BaseExpression | None = loop.node.target
        call = loop.node.iter
        if isinstance(target, cst.Tuple) and target.elements:
            target = target.elements[0].value
        elif not (isinstance(call, cst.Call) and source.code(call.func).endswith("range")):
            target = None
        if isinstance(target, cst.Name):
            found.add(target.value)
    for node in descendants(loop.node):
        if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.AddAssign):
            found.add(source.code(node.target))
    return found


def leaves(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The variables that a test reads: names and attributes, not the functions it calls."""
    stack: list[cst.CSTNode] = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Call):
            stack.extend(argument.value for argument in node.args)
        elif isinstance(node, (cst.Name, cst.Attribute)):
            yield node
        else:
            stack.extend(children(node))


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
    reader = early_reader(plan, window, test)
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


def early_reader(plan: Plan, window: Window, test: cst.If) -> str:
    """What looks at gradients in the loop, but not where the optimizer steps."""
    for event in plan.facts.calls:
        if not is_in(event, window.loop) or under(event, test):
            continue
        for callee in event.callee:
            if isinstance(callee, (External, Opaque)):
                word = callee.name.rpartition(".")[2]
                if word in GRADIENT_READERS:
                    return word
    stack = list(children(window.loop.node))
    while stack:
        node = stack.pop()
        if node is test:
            continue
        if isinstance(node, cst.Attribute) and node.attr.value == "grad":
            return ".grad"
        stack.extend(children(node))
    return ""


def find_condition(
    plan: Plan, window: Window, block: cst.IndentedBlock, test: cst.If, first: Statement
) -> str | None:
    """The text that has, before the forward pass, the value that the test will have."""
    module = window.module
    source = module.source
    between = block.body[index_in(block, first) : index_in(block, test)]
    changed = assigned(module, between)
    added: dict[str, str] = {}
    for statement in between:
        found = increment(module, statement)
        if found is not None and found[0] not in added:
            name, amount = found
            if len(list(targets(module, between, name))) == 1:
                added[name] = amount
    for node in descendants(test.test):
        if isinstance(node, (cst.NamedExpr, cst.Subscript, cst.Lambda, cst.Await)):
            return None
        if isinstance(node, cst.Call) and not is_plain(node):
            return None
    batch_sizes = {
        source.code(argument.node)
        for loader in plan.loaders
        if (argument := loader.argument("batch_size")) is not None and argument.node is not None
    }
    pieces: list[tuple[int, int, str]] = []
    for leaf in leaves(test.test):
        text = source.code(leaf)
        if text in ("True", "False", "None"):
            continue
        if not is_path(leaf) or text in batch_sizes or changes_elsewhere(plan, module, leaf, test):
            return None
        if text in added:
            span = source.span(leaf)
            pieces.append((span.start, span.end, f"({text} + {added[text]})"))
        elif any(text == name or text.startswith(f"{name}.") for name in changed):
            return None
    offset = source.span(test.test).start
    condition = source.code(test.test)
    for begin, end, text in sorted(pieces, reverse=True):
        condition = condition[: begin - offset] + text + condition[end - offset :]
    if "#" in condition or '"""' in condition:
        return None
    return " ".join(condition.split())


def is_plain(call: cst.Call) -> bool:
    """Whether a call only computes."""
    return isinstance(call.func, cst.Name) and call.func.value in PLAIN_FUNCTIONS


def increment(module: Module, statement: cst.CSTNode) -> tuple[str, str] | None:
    """The variable and the amount of a line such as ``steps += 1``."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if (
        isinstance(small, cst.AugAssign)
        and isinstance(small.operator, cst.AddAssign)
        and isinstance(small.value, cst.Integer)
    ):
        return module.source.code(small.target), small.value.value
    return None


def assigned(module: Module, nodes: object) -> set[str]:
    """The texts of everything that some statements assign to."""
    return set(targets(module, nodes))


def targets(module: Module, nodes: object, only: str = "") -> Iterator[str]:
    """The texts of the targets of assignments, each time that one stands there."""
    for statement in nodes:  # type: ignore[attr-defined]
        for node in (statement, *descendants(statement)):
            for target in targets_of(node):
                for part in parts(target):
                    text = module.source.code(part)
                    if not only or text == only:
                        yield text


def targets_of(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What one node assigns to."""
    if isinstance(node, cst.Assign):
        return [target.target for target in node.targets]
    if isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.CompFor)):
        return [node.target]
    if isinstance(node, cst.AsName):
        return [node.name]
    return []


def parts(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The single targets of a target."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from parts(element.value)
    else:
        yield target


def changes_elsewhere(
    plan: Plan, module: Module, leaf: cst.BaseExpression, test: cst.CSTNode
) -> bool:
    """Whether another function than the loop's, but no constructor, assigns to a variable."""
    here = function_of(module, test)
    for other in plan.facts.modules.values():
        for node in descendants(other.source.tree):
            if isinstance(leaf, cst.Name):
                if isinstance(node, (cst.Global, cst.Nonlocal)):
                    names = {item.name.value for item in node.names}
                    if leaf.value in names and function_of(other, node) is not here:
                        return True
                continue
            assert isinstance(leaf, cst.Attribute)
            for target in targets_of(node):
                for part in parts(target):
                    if isinstance(part, cst.Attribute) and part.attr.value == leaf.attr.value:
                        owner = function_of(other, node)
                        if owner is None or owner is here or owner.name.value == "__init__":
                            continue
                        return True
    return False
