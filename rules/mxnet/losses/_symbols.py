"""Losses that symbols make themselves, and what of them is samples."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Mapping, Opaque, Sequence, Values
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.mxnet._roles import receivers_of

#: What makes a loss of any symbol.
MAKERS = frozenset({"mxnet.sym.MakeLoss", "mxnet.sym.make_loss"})
VARIABLES = frozenset({"mxnet.sym.Variable", "mxnet.sym.var"})
#: What modules, iterators and binds call their inputs where nothing is said.
DEFAULT_INPUTS = frozenset({"data", "softmax_label"})
#: The arguments that name inputs.
NAMING = ("data_names", "label_names", "data_name", "label_name")


def made_losses(plan: Plan) -> Iterator[Event]:
    """The calls that make a loss of a symbol, each once."""
    seen: set[int] = set()
    for event in plan.facts.reached_calls:
        if id(event.node) not in seen and not MAKERS.isdisjoint(names_of(event)):
            seen.add(id(event.node))
            yield event


def names_of(event: Event) -> list[str]:
    """The dotted names of what a call calls outside the project."""
    return [callee.name for callee in event.callee if isinstance(callee, External)]


@query
def inputs(plan: Plan) -> frozenset[int]:
    """The symbols that stand for the samples of a batch."""
    names = input_names(plan)
    return frozenset(
        id(value)
        for event in plan.facts.reached_calls
        if not VARIABLES.isdisjoint(names_of(event))
        for argument in (event.arguments.get("name", 0),)
        if argument is not None
        and argument.values
        and all(isinstance(v, Constant) and v.value in names for v in argument.values)
        for value in event.result
    )


def input_names(plan: Plan) -> set[str]:
    """What the script calls the data and the labels of its batches."""
    found = set(DEFAULT_INPUTS)
    for event in plan.facts.reached_calls:
        for word in NAMING:
            argument = event.arguments.keyword(word)
            if argument is not None:
                found.update(texts(argument.values))
        if "mxnet.io.NDArrayIter" in names_of(event):
            for place, word in enumerate(("data", "label")):
                argument = event.arguments.get(word, place)
                for value in argument.values if argument is not None else ():
                    if isinstance(value, Mapping):
                        found.update(str(key) for key in value.entries)
        for place, word in enumerate(("data_shapes", "label_shapes")):
            argument = event.arguments.get(word, place) if receivers_of(event, "bind") else None
            for value in argument.values if argument is not None else ():
                if isinstance(value, Sequence):
                    for pairs in value.elements:
                        found.update(heads(pairs))
    return found


def texts(values: Values) -> Iterator[str]:
    """The texts among values, and within sequences of them."""
    for value in values:
        if isinstance(value, Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, Sequence):
            for each in value.elements:
                yield from texts(each)


def heads(values: Values) -> Iterator[str]:
    """The names of shapes: the first of pairs, or of what describes an array."""
    for value in values:
        if isinstance(value, Sequence) and value.elements:
            yield from texts(value.elements[0])
        elif isinstance(value, Opaque) and "mxnet.io.DataDesc" in called_names(value):
            argument = value.arguments.get("name", 0)
            yield from texts(argument.values) if argument is not None else ()
