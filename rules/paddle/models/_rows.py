"""Which outputs of models have no row for each sample."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import (
    Class,
    Constant,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import training_forwards
from transpile.rules.paddle._quantities import CLASSES, FUNCTIONS

#: What gives distributions.
DISTRIBUTIONS = ("paddle.distribution.",)
LAYERS = "paddle.nn."
#: Functions and methods that take all of a tensor together where they are given no axis.
REDUCING = frozenset({"mean", "sum"})


def without_rows(plan: Plan, model: Model) -> str:
    """Why the outputs of a model cannot be put together by their rows; empty where they may be."""
    for event in training_forwards(plan, model):
        for values in outputs_of(event):
            if any(map(is_other_object, values)):
                return (
                    "it gives back an object that is no tensor, whose rows cannot be put together"
                )
            if values and all(is_of_whole_batch(event, value) for value in values):
                return "it gives back a loss over the whole batch, which has no row for each sample"
    return ""


def outputs_of(event: Event) -> Iterator[Values]:
    """What a call gives, and each of what that holds, with the alternatives of each."""
    pending = [event.result]
    for values in pending:
        yield values
        for value in values if len(pending) < 100 else ():
            if isinstance(value, Sequence):
                pending.extend(value.elements)
            elif isinstance(value, Mapping):
                pending.extend(entry.values for entry in value.entries.values())


def is_other_object(value: Value) -> bool:
    """Whether an output is certainly an object, of the project or of Paddle, and no tensor."""
    if isinstance(value, Instance):
        return not is_record(value.cls)
    return any(name.startswith(DISTRIBUTIONS) for name in called_names(value))


def is_record(cls: Class) -> bool:
    """Whether the objects of a class may be put together by their fields, or be tensors."""
    return bool(cls.node.decorators) or len(list(cls.ancestry())) > 1


def is_of_whole_batch(event: Event, value: Value) -> bool:
    """Whether an output is one number that is made of all that the call is given."""
    if not isinstance(value, Opaque) or not reduces(value):
        return False
    given = {id(one) for argument in event.arguments.items for one in argument.values}
    return any(id(one) in given for one in walk_back((value,)))


def reduces(value: Opaque) -> bool:
    """Whether a call takes all of a tensor together: a loss, a mean or a sum."""
    arguments = value.arguments
    if arguments.unknown_because is not None:
        return False
    if any(name in REDUCING for name, _ in method_calls(value)):
        return not arguments.items
    makers = (value, *value.callee)
    for name in (name for maker in makers for name in called_names(maker)):
        word = name.rpartition(".")[2]
        if name in ("paddle.mean", "paddle.sum"):
            return len(arguments.items) == 1
        loss = FUNCTIONS.get(word) or CLASSES.get(word)
        if loss is None or not name.startswith(LAYERS) or loss.reduction != "mean":
            continue
        told = [one for maker in makers for one in settings_of(maker)]
        return all(isinstance(one, Constant) and one.value in ("mean", "sum") for one in told)
    return False


def settings_of(maker: Value) -> Values:
    """What a loss is told of its reduction by name, or by its place."""
    if not isinstance(maker, Opaque):
        return ()
    for name in called_names(maker):
        word = name.rpartition(".")[2]
        known = CLASSES.get(word) or FUNCTIONS.get(word)
        if known is not None:
            first = 0 if word in CLASSES else known.inputs
            places = known.settings if word in CLASSES else known.parameters
            place = first + places.index("reduction") if "reduction" in places else -1
            given = maker.arguments.get("reduction", place if place >= 0 else None)
            return given.values if given is not None else ()
    return ()
