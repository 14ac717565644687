"""Numbers that leave the training batch, and what makes them those of the global batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Opaque
from transpile.facts.walk import children
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.wraps import reached_by_losses
from transpile.rules.paddle._quantities import REDUCIBLE, Analysis, Kind, Quantity, analysis


class Change(Enum):
    """What is done to a number."""

    MEAN = "reduce_mean"
    SUM = "reduce_sum"
    COUNT = "count"


@dataclass(frozen=True, eq=False)
class Leaf:
    """An expression to take over all processes.

    Args:
        module: where it stands.
        node: the expression.
        change: what is done to it.
    """

    module: Module
    node: cst.BaseExpression
    change: Change


@dataclass(frozen=True, eq=False)
class Doubt:
    """A number that stays that of one process's share, and why."""

    module: Module
    node: cst.CSTNode
    reason: str


@dataclass(eq=False)
class Numbers:
    """All numbers of a script.

    Args:
        leaves: what is taken over all processes, by the identity of its node.
        doubts: what stays as it is, by the identity of its node.
        after: the quantities once the leaves are.
    """

    leaves: dict[int, Leaf] = field(default_factory=dict)
    doubts: dict[int, Doubt] = field(default_factory=dict)
    after: Analysis | None = None


#: Methods and functions that make numbers of tensors.
NUMBER_METHODS = frozenset({"item", "numpy", "tolist"})
NUMBER_FUNCTIONS = frozenset({"builtins.float", "builtins.int"})
#: Functions and methods whose arguments are shown or kept.
SHOWING = frozenset(
    {
        "builtins.print", "logging.info", "logging.debug", "logging.warning", "logging.log",
        "sys.stdout.write",
    }
)  # fmt: skip
SHOWING_METHODS = frozenset(
    {
        "append", "info", "debug", "warning", "add_scalar", "write", "set_postfix",
        "set_description", "extend", "writerow",
    }
)  # fmt: skip
#: What texts are put together by: the numbers stand in the arguments.
TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
TEXT_FUNCTIONS = frozenset(
    {"builtins.str", "builtins.repr", "builtins.format", "builtins.round", "builtins.dict"}
)
FORMATTING = (cst.FormattedString, cst.Tuple, cst.List, cst.Dict)


def numbers(plan: Plan) -> Numbers:
    """The numbers of a script; found once for all rules."""
    if "numbers" not in plan.memo:
        plan.memo["numbers"] = find_numbers(plan)
    found: Numbers = plan.memo["numbers"]
    return found


def together(plan: Plan) -> frozenset[int]:
    """The expressions that every process evaluates, by the identity of their node."""
    return frozenset(numbers(plan).leaves)


def find_numbers(plan: Plan) -> Numbers:
    """See :func:`numbers`."""
    found = Numbers()
    before = analysis(plan)
    used = reached_by_losses(plan)
    converted: set[int] = set()
    by_node: dict[int, list[Quantity]] = {}
    training = [e for e in plan.facts.events if not e.detached and plan.in_training(e.stack)]
    for event in plan.facts.events:
        node = number_of(event)
        if node is None or event.detached:
            continue
        quantity = before.of(plan.facts.values_of(node))
        by_node.setdefault(id(node), []).append(quantity)
    for event in training:
        node = number_of(event)
        if node is None or any(id(value) in used for value in event.result):
            continue
        quantity = before.of(plan.facts.values_of(node))
        if quantity.kind in REDUCIBLE:
            consider(plan, found, before, event, node, quantity)
            if id(node) in found.leaves:
                converted.add(id(event.node))
        elif quantity.kind is Kind.UNKNOWN:
            found.doubts[id(node)] = Doubt(event.module, node, quantity.reason)
    after = Analysis(plan, frozenset(converted))
    for _ in range(2):
        for event in training:
            for node in sinks(event):
                quantity = after.of(plan.facts.values_of(node))
                if isinstance(event.node, cst.AugAssign) and any(
                    id(value) in used for value in event.result
                ):
                    continue
                look(plan, found, after, event, node, quantity, used)
        after = Analysis(plan, frozenset({*converted, *found.leaves}))
    found.after = after
    return found


def number_of(event: Event) -> cst.BaseExpression | None:
    """The tensor that an event makes a number of."""
    if event.kind != "call" or not isinstance(event.node, cst.Call):
        return None
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in NUMBER_METHODS and isinstance(event.node.func, cst.Attribute):
                return event.node.func.value
        if isinstance(callee, External) and callee.name in NUMBER_FUNCTIONS and event.node.args:
            return event.node.args[0].value
    return None


def sinks(event: Event) -> Iterator[cst.BaseExpression]:
    """The expressions that are added up, kept or shown at an event."""
    if event.kind == "operate" and isinstance(event.node, cst.AugAssign):
        yield event.node.value
    if event.kind == "call" and isinstance(event.node, cst.Call) and shows(event):
        for argument in event.node.args:
            if not argument.star:
                yield argument.value


def shows(event: Event) -> bool:
    """Whether a call shows or keeps its arguments."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in SHOWING:
            return True
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in SHOWING_METHODS:
                return True
    function = event.node.func if isinstance(event.node, cst.Call) else None
    return (
        isinstance(function, cst.Attribute) and function.attr.value == "append" and not event.callee
    )


def look(
    plan: Plan,
    found: Numbers,
    after: Analysis,
    event: Event,
    node: cst.BaseExpression,
    quantity: Quantity,
    used: set[int],
) -> None:
    """Find the numbers of the batch in an expression that is shown or kept."""
    if id(node) in found.leaves or isinstance(node, (cst.SimpleString, cst.Integer, cst.Float)):
        return
    values = plan.facts.values_of(node)
    if quantity.agreed:
        return
    if number_inside(node, found):
        for child in parts(node):
            look(plan, found, after, event, child, after.of(plan.facts.values_of(child)), used)
        return
    if isinstance(node, FORMATTING) or formats(plan, node):
        for child in parts(node):
            look(plan, found, after, event, child, after.of(plan.facts.values_of(child)), used)
        return
    if quantity.kind in REDUCIBLE and not all(isinstance(v, (Opaque, Constant)) for v in values):
        found.doubts.setdefault(id(node), Doubt(event.module, node, "it is kept in a list"))
    elif quantity.kind in REDUCIBLE:
        if not any(id(value) in used for value in values if isinstance(value, Opaque)) or shown(
            event
        ):
            consider(plan, found, after, event, node, quantity)
    elif quantity.kind is Kind.COUNT:
        found.leaves[id(node)] = Leaf(event.module, node, Change.COUNT)
    elif quantity.kind is Kind.UNKNOWN and isinstance(node, (cst.Name, cst.Call, cst.Attribute)):
        if not isinstance(event.node, cst.AugAssign):
            found.doubts.setdefault(id(node), Doubt(event.module, node, quantity.reason))


def shown(event: Event) -> bool:
    """Whether an event only shows or keeps something."""
    return event.kind == "call"


def number_inside(node: cst.CSTNode, found: Numbers) -> bool:
    """Whether a part of an expression is taken over all processes already."""
    return any(
        id(child) in found.leaves or number_inside(child, found)
        for child in children(node)
        if isinstance(child, cst.CSTNode)
    )


def formats(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression puts a text together: ``"%s" % x``, ``"{}".format(x)``, ``str(x)``."""
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Modulo):
            return isinstance(node.left, TEXTS)
        return isinstance(node.operator, cst.Add) and any(
            isinstance(side, TEXTS) or formats(plan, side) for side in (node.left, node.right)
        )
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute):
            return node.func.attr.value == "format"
        names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
        return bool(names) and names <= TEXT_FUNCTIONS
    return False


def parts(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions that an expression is directly made of."""
    if isinstance(node, cst.Call):
        for argument in node.args:
            yield argument.value
        return
    for child in children(node):
        if isinstance(child, cst.BaseExpression):
            yield child
        elif not isinstance(child, cst.BaseSmallStatement):
            yield from parts(child)


def consider(
    plan: Plan,
    found: Numbers,
    quantities: Analysis,
    event: Event,
    node: cst.BaseExpression,
    quantity: Quantity,
) -> None:
    """Take a number over all processes, if all of them come by."""
    change = Change.MEAN if quantity.kind is Kind.MEAN else Change.SUM
    kinds = {
        quantities.of((value,)).kind
        for value in plan.facts.values_of(node)
        if isinstance(value, Opaque)
    } - {Kind.NOTHING}
    if change is Change.SUM and kinds - {Kind.SUM}:
        reason = "the same place counts the whole of another data set, too"
        found.doubts[id(node)] = Doubt(event.module, node, reason)
        return
    why = lonely(plan, quantities, event)
    if why:
        found.doubts[id(node)] = Doubt(event.module, node, why)
        return
    found.leaves[id(node)] = Leaf(event.module, node, change)


def lonely(plan: Plan, quantities: Analysis, event: Event) -> str:
    """Why only some processes may come by a place; empty where all do."""
    loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    inside = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            inside = True
        if inside and isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            test = quantities.of(plan.facts.values_of(frame.node.test))
            if test.kind not in (Kind.EQUAL, Kind.NOTHING):
                return "only the processes whose samples say so come by here"
    return ""


def is_chance(value: object) -> bool:
    """Whether a value is drawn by chance, by the clock or by the machine."""
    return isinstance(value, Opaque) and any(
        name.startswith(("random.", "numpy.random.", "time.", "paddle.rand", "psutil."))
        for name in called_names(value)
    )
