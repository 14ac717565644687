"""The numbers of samples and of workers that a script starts with, where they can be read."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Argument, Constant, Opaque, Value, Values
from transpile.plan.flow.gate import distributed_already
from transpile.plan.model import Plan
from transpile.records import dataclass


@dataclass(frozen=True)
class BatchSize:
    """The number of samples that all processes take together, or another that a run starts with.

    Args:
        value: as long as the command line says nothing else.
        options: of the script, that say something else.
    """

    value: int
    options: tuple[str, ...] = ()


def global_batch_size(plan: Plan) -> BatchSize | None:
    """What the training loaders of a script divide among the processes; None where unknown.

    A script that is distributed already divides what it divides by a number; another will divide
    what it gives its loaders, unless it is asked to leave that to each process.
    """
    if plan.options.batch_size != "global":
        return None
    is_distributed = bool(distributed_already(plan))
    found = set()
    for loader in plan.training_loaders:
        argument = loader.argument("batch_size")
        for value in argument.values if argument is not None else ():
            found.add(_read(plan, value, divided=is_distributed))
    return found.pop() if len(found) == 1 else None


def loader_workers(plan: Plan) -> BatchSize | None:
    """How many workers each process starts for the loader that it trains with; None if unknown."""
    found = set()
    for loader in plan.training_loaders:
        argument = loader.argument("num_workers")
        for value in argument.values if argument is not None else ():
            found.add(_read(plan, value, divided=False))
    return found.pop() if len(found) == 1 else None


def _read(plan: Plan, value: Value, *, divided: bool) -> BatchSize | None:
    if isinstance(value, Opaque) and value.kind == "operation" and value.name == "FloorDivide":
        whole = _only(value.operands[0])
        return None if whole is None else _read(plan, whole, divided=False)
    if divided:
        return None
    number = _number(value)
    if number is not None:
        return BatchSize(number)
    if isinstance(value, Opaque) and value.kind == "attribute":
        return next(_arguments(plan, value.name), None)
    return None


def _arguments(plan: Plan, name: str) -> Iterator[BatchSize]:
    """What argument parsers of the script put under a name."""
    for event in plan.facts.reached_calls:
        if not any(
            isinstance(each, Opaque) and each.name == "add_argument" for each in event.callee
        ):
            continue
        options = tuple(_texts(event.arguments.items))
        named = event.arguments.get("dest")
        default = event.arguments.get("default")
        longest = next((each for each in options if each.startswith("--")), "")
        destination = _text(named.values) if named is not None else longest.lstrip("-")
        if destination.replace("-", "_") == name and default is not None:
            number = _number(_only(default.values))
            if number is not None:
                yield BatchSize(number, options)


def _texts(items: tuple[Argument, ...]) -> Iterator[str]:
    for item in items:
        if item.keyword is None and (text := _text(item.values)).startswith("-"):
            yield text


def _text(values: Values) -> str:
    value = _only(values)
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else ""


def _number(value: Value | None) -> int | None:
    if isinstance(value, Constant) and type(value.value) is int and value.value > 0:
        return value.value
    return None


def _only(values: Values) -> Value | None:
    return values[0] if len(values) == 1 else None
