"""What something that a loop adds to holds when the loop begins."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, Constant, External
from transpile.facts.walk import descendants
from transpile.plan.model import Plan

from .model import Obstacle
from .names import bound_names
from .words import EvaluationWords

#: Methods that give the same numbers in another place or type.
SAME_NUMBERS = frozenset({"to", "cuda", "cpu", "float", "double", "long", "int", "type", "view"})
ARRAYS = frozenset({"numpy.array", "numpy.asarray", "numpy.empty"})


class Start(Enum):
    """What it holds."""

    NUMBER = auto()
    TENSOR = auto()
    COUNTS = auto()
    LIST = auto()
    EMPTY_TENSOR = auto()
    EMPTY_ARRAY = auto()


def preceding(module: Module, loop: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements that certainly run before a loop, the last one first.

    They end where the function begins, or the body of another loop.
    """
    inner = loop
    for outer in module.source.parents(loop):
        if isinstance(outer, cst.IndentedBlock | cst.Module):
            earlier: list[cst.CSTNode] = []
            for statement in outer.body:
                if statement is inner:
                    break
                earlier.append(statement)
            yield from reversed(earlier)
        if isinstance(outer, cst.FunctionDef | cst.For | cst.While | cst.Lambda):
            return
        inner = outer


def first_value(
    module: Module, loop: cst.CSTNode, target: cst.BaseExpression
) -> tuple[cst.BaseExpression, list[cst.CSTNode]]:
    """What something was last assigned before a loop, and the statements since then.

    Raises:
        Obstacle: nothing, or not in any case.
    """
    text = module.source.code(target)
    root = text.partition(".")[0]
    since: list[cst.CSTNode] = []
    for statement in preceding(module, loop):
        if isinstance(statement, cst.SimpleStatementLine):
            for small in reversed(statement.body):
                value = assigned(module, small, text)
                if value is not None:
                    return value, since
                since.append(small)
            if root in bound_names(statement):
                break
            continue
        if root in bound_names(statement) or stores(module, statement, text):
            break
        since.append(statement)
    raise not_seen(loop, text)


def not_seen(loop: cst.CSTNode, text: str) -> Obstacle:
    """The complaint about something that may hold something already when the loop begins."""
    return Obstacle(loop, f"it is not seen that '{text}' begins empty or at zero before the loop")


def assigned(module: Module, small: cst.CSTNode, text: str) -> cst.BaseExpression | None:
    """What a statement assigns to a target of this text."""
    if isinstance(small, cst.AnnAssign):
        return small.value if module.source.code(small.target) == text else None
    if not isinstance(small, cst.Assign):
        return None
    for target in small.targets:
        if module.source.code(target.target) == text:
            return small.value
        if not isinstance(target.target, cst.Tuple):
            continue
        for position, element in enumerate(target.target.elements):
            if module.source.code(element.value) == text:
                if isinstance(small.value, cst.Tuple):
                    values = small.value.elements
                    if len(values) == len(target.target.elements):
                        return values[position].value
    return None


def stores(module: Module, statement: cst.CSTNode, text: str) -> bool:
    """Whether a statement assigns to a target of this text somewhere in it."""
    return any(
        module.source.code(node.target) == text
        for node in descendants(statement)
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign)
    )


def start_of(
    plan: Plan, module: Module, node: cst.BaseExpression, words: EvaluationWords
) -> Start | None:
    """What an expression gives, where it is zero or empty; None for others."""
    if is_zero(plan, node):
        return Start.NUMBER
    if isinstance(node, cst.List):
        if not node.elements:
            return Start.LIST
        return Start.COUNTS if all(is_zero(plan, one.value) for one in node.elements) else None
    if isinstance(node, cst.Dict):
        zero = all(
            isinstance(one, cst.DictElement) and is_zero(plan, one.value) for one in node.elements
        )
        return Start.COUNTS if zero else None
    if isinstance(node, cst.ListComp):
        return Start.COUNTS if is_zero(plan, node.elt) else None
    if isinstance(node, cst.DictComp):
        return Start.COUNTS if is_zero(plan, node.value) else None
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        repeated = start_of(plan, module, node.left, words)
        return repeated if repeated is Start.COUNTS else None
    return made(plan, module, node, words) if isinstance(node, cst.Call) else None


def is_zero(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is the number zero."""
    if isinstance(node, cst.Integer | cst.Float):
        return node.evaluated_value == 0
    values = plan.facts.values_of(node)
    return bool(values) and all(
        isinstance(value, Constant) and type(value.value) in (int, float) and value.value == 0
        for value in values
    )


def made(plan: Plan, module: Module, node: cst.Call, words: EvaluationWords) -> Start | None:
    """What a call gives, where it is zero or empty."""
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in SAME_NUMBERS:
        inner = start_of(plan, module, node.func.value, words)
        if inner in (Start.TENSOR, Start.EMPTY_TENSOR, Start.EMPTY_ARRAY):
            return inner
    names = {
        value.name if isinstance(value, External) else ""
        for value in plan.facts.values_of(node.func)
    }
    if not names or "" in names:
        return None
    given = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
    first = given[0] if given else None
    if names <= words.zeros:
        if first is not None and not has_zero(first):
            return Start.TENSOR
        if all(name.startswith("numpy.") for name in names):
            return Start.EMPTY_ARRAY if first is not None else None
        return Start.EMPTY_TENSOR if first is not None else None
    if names <= words.tensors or names <= ARRAYS:
        empty = Start.EMPTY_TENSOR if names <= words.tensors else Start.EMPTY_ARRAY
        allocates = any(name.endswith(".empty") for name in names)
        if first is None:
            return empty if not node.args and not allocates else None
        if allocates:
            return empty if has_zero(first) else None
        start = start_of(plan, module, first, words)
        if start is Start.LIST:
            return empty
        return Start.TENSOR if start in (Start.NUMBER, Start.COUNTS) else None
    return collected(plan, module, names, node)


def collected(plan: Plan, module: Module, names: set[str], node: cst.Call) -> Start | None:
    """What a call of a container's class gives, where it is zero or empty."""
    first = node.args[0].value if node.args else None
    if names <= {"builtins.int", "builtins.float"}:
        return Start.NUMBER if first is None else None
    if names <= {"builtins.list"}:
        if first is None:
            return Start.LIST
        if isinstance(first, cst.GeneratorExp):
            return Start.COUNTS if is_zero(plan, first.elt) else None
        return None
    if names <= {"builtins.dict", "collections.Counter", "collections.OrderedDict"}:
        return Start.COUNTS if first is None else None
    if names <= {"collections.defaultdict"} and first is not None:
        factories = plan.facts.values_of(first)
        counts = (External("builtins.int"), External("builtins.float"))
        return Start.COUNTS if factories and all(f in counts for f in factories) else None
    return None


def has_zero(node: cst.BaseExpression) -> bool:
    """Whether a shape says that there is nothing in it."""
    parts = [node]
    if isinstance(node, cst.Tuple | cst.List):
        parts = [element.value for element in node.elements]
    return any(isinstance(part, cst.Integer) and part.evaluated_value == 0 for part in parts)


def class_of(plan: Plan, node: cst.BaseExpression) -> Class | None:
    """The class of the project that an expression makes an object of."""
    if not isinstance(node, cst.Call):
        return None
    values = plan.facts.values_of(node.func)
    if len(values) == 1 and isinstance(values[0], Class):
        return values[0]
    return None


def check_unshared(
    module: Module,
    value: cst.BaseExpression,
    since: list[cst.CSTNode],
    target: cst.BaseExpression,
) -> None:
    """Make sure that nothing else holds a container that is replaced after the loop.

    Args:
        module: where the loop stands.
        value: what made the container.
        since: the statements between that and the loop.
        target: the container.

    Raises:
        Obstacle: something might.
    """
    text = module.source.code(target)
    kind = type(target)
    made_by = module.source.parent(value)
    if isinstance(made_by, cst.Assign) and len(made_by.targets) > 1:
        raise Obstacle(value, f"what '{text}' holds has another name, too")
    for statement in since:
        for node in descendants(statement):
            if isinstance(node, kind) and module.source.code(node) == text:
                raise Obstacle(node, f"'{text}' is used before the loop, too")
