"""Average gradients only in the micro steps after which the optimizer steps.

What:
    Where the gradients of several batches are gathered before a step, the forward and the backward
    pass of each batch go under a manager that leaves the gradients to the process, except where
    the step follows. The gradients gathered so far are averaged together with those of that batch.

Why:
    DataParallel averages in every backward pass. The result is right, but of all these rounds only
    the last before a step is needed, and on several machines they take most of the time.

Before:
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.clear_grad()

After:
    for i, (x, y) in enumerate(loader):
        with gradients_synchronised(model, (i + 1) % 4 == 0):
            loss = criterion(model(x), y) / 4
            loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.clear_grad()

Refuses when:
    never: where it is not certain in which micro steps gradients are needed, or they are read,
    clipped or decided by between the steps, every one of them averages, which is right and only
    slower.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Loop, Within
from transpile.facts.module import Module
from transpile.facts.values import Generator
from transpile.facts.walk import children, descendants
from transpile.layout import guard
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.plan.data.sources import is_simple
from transpile.plan.effects.treatment import bound_names
from transpile.plan.flow.places import Statement, statement_in
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.averaging import GRADIENT_READERS
from transpile.plan.models.learning import training_forwards
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.losses._shares import analysis

CODES = {"PD331": "gradients are averaged where the optimizer steps"}
#: Functions and methods that read gradients, or change them.
READERS = GRADIENT_READERS - {"grad"}


@dataclass(frozen=True, eq=False)
class MicroStep:
    """A micro step: the statements from the forward to the backward pass.

    Args:
        module: where they are.
        first, last: the statements.
        model: the model, as they name it.
        condition: what holds where the optimizer steps.
    """

    module: Module
    first: Statement
    last: Statement
    model: str
    condition: cst.BaseExpression


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each backward pass of a micro step."""
    seen: set[int] = set()
    for backward in plan.backwards:
        if backward.event.detached or id(backward.event.node) in seen:
            continue
        seen.add(id(backward.event.node))
        if under_manager(plan, backward):
            yield Ruling.done(
                "PD331", backward.event, "gradients are averaged only where the optimizer steps"
            )
            continue
        found = micro_step(plan, backward)
        if found is not None:
            yield Ruling.apply(
                "PD331",
                (found.module, backward.event.node),
                "gradients are averaged only where the optimizer steps",
                data=found,
            )


def under_manager(plan: Plan, backward: Backward) -> bool:
    """Whether a backward pass stands under a manager of the script's own that may skip rounds."""
    return any(
        isinstance(frame, Within) and any(isinstance(value, Generator) for value in frame.managers)
        for frame in backward.event.stack
    )


def micro_step(plan: Plan, backward: Backward) -> MicroStep | None:
    """The micro step of a backward pass, where it is certain when the optimizer steps."""
    loop, event = backward.batch_loop, backward.event
    if loop is None or not isinstance(loop.node, cst.For) or not loop.module.is_entry:
        return None
    body = loop.node.body
    if not isinstance(body, cst.IndentedBlock) or event.module is not loop.module:
        return None
    if len(plan.backwards) != 1 or len(backward.models) != 1 or not backward.models[0].trained:
        return None
    model = backward.models[0]
    last = statement_in(loop.module, body, event.node)
    condition = condition_of(plan, model, loop.module, body)
    forwards = training_forwards(plan, model)
    if len({id(forward.node) for forward in forwards}) != 1 or last is None or condition is None:
        return None
    call = forwards[0].node
    first = statement_in(loop.module, body, call)
    if first is None or not isinstance(call, cst.Call) or not is_simple(call.func):
        return None
    order: list[Statement] = [s for s in body.body if isinstance(s, Statement)]
    between = order[order.index(first) : order.index(last) + 1]
    step = next((s for s in order if isinstance(s, cst.If) and s.test is condition), None)
    if not between or step is None or order.index(step) <= order.index(last):
        return None
    used = {node.value for node in descendants(condition) if isinstance(node, cst.Name)}
    bound = {
        name
        for statement in order[order.index(first) : order.index(step)]
        for name in bound_names(statement)
    }
    if used & bound or reads_early(plan, loop, step):
        return None
    return MicroStep(loop.module, first, last, loop.module.source.code(call.func), condition)


def reads_early(plan: Plan, loop: Loop, step: cst.If) -> bool:
    """Whether the loop looks at gradients, or changes them, other than where the optimizer steps.

    In a micro step that averages nothing they are those of one process's share.
    """
    trees: dict[int, cst.CSTNode] = {id(loop.node): loop.node}
    for event in plan.facts.calls:
        frames = [frame.node for frame in event.stack if not isinstance(frame, Within)]
        if loop.node not in frames or step in frames:
            continue
        words = {getattr(callee, "name", "").rpartition(".")[2] for callee in event.callee}
        if words & READERS:
            return True
        inside = event.stack[frames.index(loop.node) :]
        trees.update(
            (id(frame.function.node), frame.function.node)
            for frame in inside
            if isinstance(frame, Call)
        )
    return any(reads_gradients(tree, step) for tree in trees.values())


def reads_gradients(tree: cst.CSTNode, step: cst.If) -> bool:
    """Whether code reads the gradient of a tensor, beside a statement."""
    stack = list(children(tree))
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Attribute) and node.attr.value in ("grad", "gradient"):
            return True
        if node is not step:
            stack.extend(children(node))
    return False


def condition_of(
    plan: Plan, model: Model, module: Module, body: cst.IndentedBlock
) -> cst.BaseExpression | None:
    """What must hold for every step of a model's optimizers; None where some go without."""
    steps = [step for optimizer in model.optimizers for step in optimizer.steps]
    conditions: list[cst.BaseExpression] = []
    for step in steps:
        if step.detached:
            continue
        statement = statement_in(module, body, step.node) if step.module is module else None
        if not isinstance(statement, cst.If) or statement.orelse is not None:
            return None
        conditions.append(statement.test)
    if not conditions or any(condition is not conditions[0] for condition in conditions):
        return None
    values = plan.facts.values_of(conditions[0])
    if not analysis(plan).of(values).is_same:
        return None
    return conditions[0]


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The manager around the micro step."""
    found: MicroStep = ruling.data
    source = found.module.source
    yield Helper("gradients_synchronised", found.module)
    name = plan.names_in(found.module).fresh("gradients_synchronised")
    indentation = len(statement_indentation(source, found.first))
    arguments = [found.model, source.code(found.condition)]
    header = written_call(f"with {name}", arguments, indentation, ":")
    for edit in guard(source, found.first, found.last, "\n".join(header)):
        yield In(found.module, edit)
