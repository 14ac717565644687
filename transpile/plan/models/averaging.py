"""Where the gradients of models that no variable holds for a wrap are averaged by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Values
from transpile.facts.walk import descendants
from transpile.plan.data.sources import is_simple
from transpile.plan.flow.places import statement_of
from transpile.plan.graph import method_calls, walk_back
from transpile.plan.model import Model, Optimizer, Plan
from transpile.plan.models.noise import models_of
from transpile.plan.models.parts import part_of
from transpile.plan.query import query
from transpile.plan.roles.optimizers import parameter_owners
from transpile.records import dataclass

#: A line that holds one statement or several, or a compound statement.
Small = cst.BaseSmallStatement | cst.BaseCompoundStatement
SETS = frozenset({"builtins.set", "builtins.frozenset"})
#: Functions and methods that read gradients, or change them.
GRADIENT_READERS = frozenset(
    {"clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "unscale_", "grad"}
)


@dataclass(frozen=True, eq=False)
class Averaging:
    """Where the gradients that an optimizer is about to use are averaged.

    Args:
        module: the module of the place.
        before: the statement before which they are.
        text: the expression of the optimizer.
        step: the call that uses them.
    """

    module: Module
    before: Small
    text: str
    step: cst.Call


def search(
    plan: Plan, model: Model, are_samples: Callable[[Values], bool] = lambda values: False
) -> list[Averaging] | str:
    """The places before the steps of a model's optimizers, or why there are none.

    Args:
        plan: the plan.
        model: the model.
        are_samples: whether values have rows of the batch, and so are no parameters.
    """
    if model.updated_by_hand:
        return "the script changes its parameters itself"
    if any(optimizer.unknown_because for optimizer in model.optimizers):
        return "it is not known what its optimizer updates"
    if puts_parameters_into_sets(plan):
        return "its parameters go through a set, which has another order in every process"
    if has_sparse_gradients(plan):
        return "it may have sparse gradients, which are not averaged by hand"
    found: dict[int, Averaging] = {}
    for optimizer in model.optimizers:
        for step in optimizer.steps:
            if step.detached:
                continue
            place = averaging_at(plan, optimizer, step)
            if isinstance(place, str):
                return place
            found[id(step.node)] = place
    if not found:
        return "no step of its optimizer is seen"
    return kept_by(plan, found, readers(plan, model, are_samples))


@query
def puts_parameters_into_sets(plan: Plan) -> bool:
    """Whether parameters of a model are put into a set, by whose order they may be held."""
    for event in plan.facts.calls:
        if not any(isinstance(one, External) and one.name in SETS for one in event.callee):
            continue
        given = tuple(value for item in event.arguments.items for value in item.values)
        if gives_parameters(plan, given):
            return True
    return any(
        isinstance(element, cst.StarredElement)
        and gives_parameters(plan, plan.facts.values_of(element.value))
        for module in plan.facts.modules.values()
        for display in module.source.nodes_of(cst.Set)
        for element in display.elements
    )


def gives_parameters(plan: Plan, values: Values) -> bool:
    """Whether values come from the parameters of a model."""
    return any(
        name in plan.table.parameter_methods
        for value in walk_back(values)
        for name, _ in method_calls(value)
    )


@query
def has_sparse_gradients(plan: Plan) -> bool:
    """Whether a layer is told to have sparse gradients."""
    return any(
        argument is not None and any(value != Constant(False) for value in argument.values)
        for event in plan.facts.calls
        if any(isinstance(one, External) for one in event.callee)
        for argument in [event.arguments.keyword("sparse")]
    )


def search_tensors(plan: Plan, optimizer: Optimizer) -> list[Averaging] | str:
    """The places before the steps of an optimizer that holds tensors without a model, or why not.

    What is read of the gradients of other models is none of its business.
    """
    found: dict[int, Averaging] = {}
    for step in optimizer.steps:
        if not step.detached:
            place = averaging_at(plan, optimizer, step)
            if isinstance(place, str):
                return place
            found[id(step.node)] = place
    if not found:
        return "no step of its optimizer is seen"
    owned = [one for one in optimizer.modules if not any(one is read for read in optimizer.read)]
    reading = (
        node
        for module in plan.facts.modules.values()
        for node in descendants(module.source.tree)
        if is_reader(plan, node)
        and not any(one in owned for one in parameter_owners(read_from(plan, node), plan.table))
    )
    return kept_by(plan, found, reading)


def kept_by(
    plan: Plan, found: dict[int, Averaging], reading: Iterable[cst.CSTNode]
) -> list[Averaging] | str:
    """The places, where all that reads gradients stands behind one of them."""
    kept = {id(node) for each in found.values() for node in behind(plan, each)}
    if any(id(node) not in kept for node in reading):
        return "its gradients are read elsewhere than right before its optimizer steps"
    return list(found.values())


def averaging_at(plan: Plan, optimizer: Optimizer, step: Event) -> Averaging | str:
    """Where the gradients for one step are averaged: behind the backward pass, before any use."""
    text = optimizer_at(plan, optimizer, step)
    statement = small_statement(step.module, step.node)
    if text is None or statement is None or not isinstance(step.node, cst.Call):
        return "its optimizer steps in an expression, not in a statement of its own"
    starts = started_by(plan)
    before = statement
    for earlier in siblings_before(step.module, statement):
        inside = list(descendants(earlier))
        if any(id(node) in starts for node in inside):
            break
        if any(is_reader(plan, node) for node in inside):
            before = earlier
    if any(id(node) in starts for node in descendants(statement)):
        return "its optimizer runs the backward pass itself"
    return Averaging(step.module, before, text, step.node)


def optimizer_at(plan: Plan, optimizer: Optimizer, step: Event) -> str | None:
    """The expression of an optimizer where it, or a gradient scaler in its place, steps."""
    node = step.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if step.arguments.get("closure", None) is not None:
        return None
    for expression in (*(arg.value for arg in node.args), node.func.value):
        if any(value is optimizer.value for value in plan.facts.values_of(expression)):
            return step.module.source.code(expression) if is_simple(expression) else None
    return None


def small_statement(module: Module, node: cst.CSTNode) -> Small | None:
    """The statement that is nothing but an expression with a call in it."""
    parent = module.source.parent(node)
    return parent if isinstance(parent, cst.Expr) else None


@query
def started_by(plan: Plan) -> set[int]:
    """The identities of backward passes, and of the calls that come to them."""
    return {
        id(node)
        for backward in plan.backwards
        for node in (
            backward.event.node,
            *(frame.node for frame in backward.event.stack if isinstance(frame, Call)),
        )
    }


def siblings_before(module: Module, statement: Small) -> Iterator[Small]:
    """The statements before one in its block, the nearest first; those of a line one by one."""
    line = statement_of(module, statement)
    owner = module.source.parent(statement)
    if isinstance(owner, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        position = next(i for i, each in enumerate(owner.body) if each is statement)
        yield from reversed(owner.body[:position])
    if line is None or isinstance(owner, cst.SimpleStatementSuite):
        return
    block = module.source.parent(line)
    body = getattr(block, "body", ())
    position = next((i for i, each in enumerate(body) if each is line), 0)
    for earlier in reversed(body[:position]):
        if isinstance(earlier, cst.SimpleStatementLine):
            yield from reversed(earlier.body)
        else:
            yield earlier


def siblings_behind(module: Module, statement: Small) -> Iterator[Small]:
    """The statements that follow one in its block."""
    line = statement_of(module, statement)
    owner = module.source.parent(statement)
    if isinstance(owner, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        position = next(i for i, each in enumerate(owner.body) if each is statement)
        yield from owner.body[position + 1 :]
    if line is None or isinstance(owner, cst.SimpleStatementSuite):
        return
    block = module.source.parent(line)
    body = getattr(block, "body", ()) if isinstance(block, (cst.IndentedBlock, cst.Module)) else ()
    position = next((i for i, each in enumerate(body) if each is line), len(body))
    for later in body[position + 1 :]:
        if isinstance(later, cst.SimpleStatementLine):
            yield from later.body
        else:
            yield later


def behind(plan: Plan, averaging: Averaging) -> Iterator[cst.CSTNode]:
    """Everything from where gradients are averaged to the next backward pass, in one block."""
    statement = small_statement(averaging.module, averaging.step)
    assert statement is not None
    yield from descendants(statement)
    for later in siblings_behind(averaging.module, statement):
        inside = list(descendants(later))
        if any(id(node) in started_by(plan) for node in inside):
            break
        # What a function reads is read where it is called.
        yield from () if isinstance(later, (cst.FunctionDef, cst.ClassDef)) else inside
    for earlier in siblings_before(averaging.module, statement):
        if averaging.before is statement:
            return
        yield from descendants(earlier)
        if earlier is averaging.before:
            return


def readers(
    plan: Plan, model: Model, are_samples: Callable[[Values], bool]
) -> Iterator[cst.CSTNode]:
    """What reads or changes gradients, but for what is seen to be those of other models."""
    for module in plan.facts.modules.values():
        for node in descendants(module.source.tree):
            if is_reader(plan, node):
                given = read_from(plan, node)
                if are_samples(given):
                    continue
                owners = list(parameter_owners(given, plan.table))
                owners += [other.value for other in models_of(plan, given)]
                if not owners or any(part_of(plan, owner, model) for owner in owners):
                    yield node


def is_reader(plan: Plan, node: cst.CSTNode) -> bool:
    """Whether a node is a gradient, or the call of a function that changes gradients."""
    if isinstance(node, cst.Attribute) and node.attr.value in ("grad", "gradient"):
        values = plan.facts.values_of(node)
        return not (values and all(isinstance(v, (External, Constant)) for v in values))
    if isinstance(node, cst.Call) and isinstance(node.func, (cst.Name, cst.Attribute)):
        name = node.func if isinstance(node.func, cst.Name) else node.func.attr
        return name.value != "grad" and name.value in GRADIENT_READERS
    return False


def read_from(plan: Plan, node: cst.CSTNode) -> Values:
    """The parameters, models or optimizers whose gradients are read."""
    if isinstance(node, cst.Attribute):
        return plan.facts.values_of(node.value)
    assert isinstance(node, cst.Call)
    return tuple(v for arg in node.args for v in plan.facts.values_of(arg.value))


def averaged_already(plan: Plan, optimizers: Iterable[Optimizer], collective: str) -> bool:
    """Whether the script reduces over the processes what some of the optimizers hold."""
    held = {id(optimizer.value) for optimizer in optimizers}
    for event in plan.facts.calls_to(collective):
        for frame in event.calls():
            if isinstance(frame.node, cst.Call) and any(
                id(value) in held
                for arg in frame.node.args
                for value in plan.facts.values_of(arg.value)
            ):
                return True
    return False
