"""When a schedule changes the learning rate: what it is told, and how often it is asked."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.arithmetic.formula import Formula, number, same
from transpile.arithmetic.loops import Times
from transpile.arithmetic.reading import Reader
from transpile.arithmetic.steps import steps_in
from transpile.arithmetic.vocabulary import Parameter
from transpile.facts.events import Event
from transpile.facts.values import Argument, Function, Opaque, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Schedule:
    """A schedule of the script.

    Args:
        event: the call that makes it.
        name: its class or function.
        value: the object.
        asked: the calls that let it go on.
    """

    event: Event
    name: str
    value: Value
    asked: tuple[Event, ...]


def schedules(reader: Reader) -> Iterator[Schedule]:
    """The schedules of a script, each once for the place that makes it."""
    words = {**reader.vocabulary.schedules, **reader.vocabulary.lambdas}
    seen: set[int] = set()
    for event in reader.plan.facts.calls:
        if event.detached or id(event.node) in seen:
            continue
        for value in event.result:
            names = [name for name in called_names(value) if name in words]
            if names and isinstance(value, Opaque) and value.node is event.node:
                seen.add(id(event.node))
                yield Schedule(event, names[0], value, tuple(asked(reader, value)))


def asked(reader: Reader, value: Value) -> Iterator[Event]:
    """The calls of a schedule's ``step``."""
    for event in reader.plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "step":
                if any(behind is value for behind in callee.operands[0]):
                    yield event


def calls_of(
    reader: Reader, schedule: Schedule, batch_loops: dict[int, Values | None]
) -> tuple[Times | None, Times] | None:
    """How often a schedule is asked in a pass over the batches, and altogether."""
    return steps_in(reader, list(schedule.asked), batch_loops)


def told(reader: Reader, schedule: Schedule) -> list[tuple[Parameter, list[Formula]]]:
    """The parameters that a schedule is given, or has by itself, with their numbers."""
    found: list[tuple[Parameter, list[Formula]]] = []
    for parameter in reader.vocabulary.schedules.get(schedule.name, ()):
        argument = schedule.event.arguments.get(parameter.name, parameter.position)
        if argument is None:
            if parameter.default is not None:
                found.append((parameter, [number(parameter.default)]))
            continue
        found.append((parameter, numbers(reader, argument)))
    given = reader.vocabulary.lambdas.get(schedule.name)
    if given is not None:
        argument = schedule.event.arguments.get(given.name, given.position)
        if argument is not None:
            marks = list(thresholds(reader, argument.values))
            if marks:
                found.append((Parameter("changes at", -1, "count"), marks))
    return found


def numbers(reader: Reader, argument: Argument) -> list[Formula]:
    """One number, or those of a list."""
    several = reader.sequence(argument.values)
    if several is not None:
        return several
    return [reader.formula(argument.values, argument.node)]


def thresholds(reader: Reader, values: Values) -> Iterator[Formula]:
    """What functions compare or divide their first argument with: where a rate changes its way."""
    kept: list[Formula] = []
    for value in values:
        if not isinstance(value, Function):
            continue
        first = [each.name.value for each in value.node.params.params[:1]]
        for node in descendants(value.node.body):
            found = counterpart(node, first)
            if found is None:
                continue
            mark = reader.formula(reader.plan.facts.values_of(found), found)
            if mark.value in (0, 1) or any(same(mark, other) for other in kept):
                continue
            kept.append(mark)
    yield from kept


def counterpart(node: cst.CSTNode, names: list[str]) -> cst.BaseExpression | None:
    """The other side of a comparison with, or a division of, a variable."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        left, right = node.left, node.comparisons[0].comparator
        if is_variable(left, names):
            return right
        return left if is_variable(right, names) else None
    if isinstance(node, cst.BinaryOperation) and is_variable(node.left, names):
        if isinstance(node.operator, (cst.Divide, cst.FloorDivide)):
            return node.right
    return None


def is_variable(node: cst.CSTNode, names: list[str]) -> bool:
    """Whether an expression is one of some variables, perhaps as a float, perhaps plus 1."""
    if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.func, cst.Name):
        return node.func.value in ("float", "int") and is_variable(node.args[0].value, names)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return is_variable(node.left, names) and isinstance(node.right, cst.Integer)
    return isinstance(node, cst.Name) and node.value in names
