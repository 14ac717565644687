"""Which models' calls are split over the processes, and where their batches come from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Constant, Function, Instance, Opaque, Unknown, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.gate import hand_written
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.learning import outputs, training_forwards
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.wraps import Wrap, find_wrap
from transpile.records import dataclass
from transpile.rows.verdict import hook
from transpile.rules.pytorch._rows import Axes, CallRows, rows_of

#: What gives the same on all ranks for what it is given, but for random numbers.
REPEATABLE = ("torch.", "numpy.", "math.", "copy.", "builtins.", "collections.", "itertools.",
              "functools.", "operator.")  # fmt: skip
#: Methods in a chain that are followed.
MOST_METHODS = 50


class Batch(Enum):
    """Where the rows come from that a training step gives to a model."""

    DRAWN = "drawn"
    """Each step draws them from data."""
    FIXED = "fixed"
    """They are the same in every step."""
    ACTED = "acted"
    """They come from acting with what the same call of the model gave before."""


@dataclass(frozen=True, eq=False)
class Split:
    """What becomes of the calls of a trained model.

    Args:
        model: the model.
        rows: what its calls do with the samples of a batch.
        whole_because: why every rank computes its calls whole; empty where they are split.
    """

    model: Model
    rows: CallRows
    whole_because: str = ""


def split_of(plan: Plan, model: Model) -> Split:
    """What becomes of the calls of a trained model."""
    key = f"split {id(model)}"
    if key not in plan.memo:
        rows = rows_of(plan, model)
        plan.memo[key] = Split(model, rows, whole_because(plan, model, rows))
    found: Split = plan.memo[key]
    return found


def whole_because(plan: Plan, model: Model, rows: CallRows) -> str:
    """Why the calls of a model cannot be split; empty where they can."""
    if rows.verdict == "coupled":
        mixing: str = rows.reason
        return mixing
    seen_within = hook(plan.facts)
    if seen_within is not None:
        # What a hook keeps or changes are this process's rows, whatever the outputs are.
        return f"{seen_within.reason}, and sees the rows of one process alone"
    if parameter_gradients(plan, model):
        return "gradients of its parameters are taken by function, where no wrap averages them"
    wrap: Wrap | str = find_wrap(plan, model)
    if isinstance(wrap, str):
        return wrap
    if wrap.thawed:
        return "its parameters are frozen and unfrozen while it is trained"
    axes = (*rows.inputs, *rows.keywords.values())
    unpacked = any(event.arguments.unknown_because for event in model.forwards)
    if not unpacked and all(axis is None for axis in axes):
        return "it is given nothing that has a row for each sample"
    for event in training_forwards(plan, model):
        if any(is_array(argument.values) for argument in event.arguments.items):
            return "it is given arrays of NumPy, not tensors"
    return ""


def parameter_gradients(plan: Plan, model: Model) -> bool:
    """Whether gradients are taken through calls of a model by function, not for data alone.

    Through a split call each process has W times the gradients of its own rows, and what is done
    with them is another thing than what is done with their mean.
    """
    own = {id(value) for event in model.forwards for value in outputs(event)}
    every = {id(value) for one in plan.models for event in one.forwards for value in outputs(event)}

    def through(values: Values) -> Iterator[Value]:
        return walk_back(values, lambda value: not isinstance(value, (Instance, Function)))

    def before_calls(values: Values) -> Iterator[Value]:
        return walk_back(
            values, lambda v: id(v) not in every and not isinstance(v, (Instance, Function))
        )

    for value in hand_written(plan):
        of = [
            argument.values
            for name in called_names(value)
            if name in plan.table.gradients_of
            if (argument := value.arguments.get(*plan.table.gradients_of[name])) is not None
        ]
        of_models = not of or any(
            isinstance(behind, Instance) or behind is model.value or is_layer(behind)
            for values in of
            for behind in before_calls(values)
        )
        given = tuple(one for argument in value.arguments.items for one in argument.values)
        if of_models and any(id(behind) in own for behind in through(given)):
            return True
    return False


def is_layer(value: Value) -> bool:
    """Whether a value is a layer or parameter of the library."""
    return any(
        name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
        for name in called_names(value)
    )


def is_array(values: tuple[Value, ...]) -> bool:
    """Whether an argument is certainly an array of NumPy, which a split call hands on whole."""
    return bool(values) and all(
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(name.startswith("numpy.") for name in called_names(value))
        for value in values
    )


def split_arguments(plan: Plan, wrap: Wrap) -> list[str] | None:
    """The arguments that say where samples are counted; None where calls are not split."""
    splits = [split_of(plan, model) for model in wrap.models]
    if any(split.whole_because for split in splits):
        return None
    rows = splits[0].rows
    if any(written(split) != written(splits[0]) for split in splits[1:]):
        return None
    found = []
    if any(axis != 0 for axis in given_inputs(splits[0])):
        found.append(f"inputs={rows.inputs!r}")
    if any(axis != 0 for axis in given_keywords(splits[0])):
        found.append(f"keywords={rows.keywords!r}")
    if not is_first(rows.outputs):
        found.append(f"outputs={rows.outputs!r}")
    return found


def written(split: Split) -> tuple[object, ...]:
    """What a wrap is told of a model."""
    return split.rows.inputs, split.rows.keywords, split.rows.outputs


def is_checked(plan: Plan, wrap: Wrap) -> bool:
    """Whether the first batch must show that the rows of a model are apart."""
    return any(split_of(plan, model).rows.verdict == "check" for model in wrap.models)


def given_inputs(split: Split) -> Iterator[int | None]:
    """The axes of the positional arguments that may be tensors."""
    for position, axis in enumerate(split.rows.inputs):
        for event in split.model.forwards:
            arguments = event.arguments.positional()
            if position < len(arguments) and not is_plain(arguments[position].values):
                yield axis
                break


def given_keywords(split: Split) -> Iterator[int | None]:
    """The axes of the arguments with keywords that may be tensors."""
    for name, axis in split.rows.keywords.items():
        for event in split.model.forwards:
            argument = event.arguments.keyword(name)
            if argument is not None and not is_plain(argument.values):
                yield axis
                break


def is_plain(values: tuple[Value, ...]) -> bool:
    """Whether an argument is certainly no tensor."""
    return bool(values) and all(isinstance(value, Constant) for value in values)


def is_first(axes: Axes) -> bool:
    """Whether all outputs count samples along their first axis."""
    if isinstance(axes, tuple):
        return all(is_first(axis) for axis in axes)
    if isinstance(axes, dict):
        return all(is_first(axis) for axis in axes.values())
    return axes is not None and axes == 0


def batch_of(plan: Plan, backward: Backward) -> Batch:
    """Where the rows of a backward pass come from."""
    if backward.loaders or backward.cuts:
        return Batch.DRAWN
    forwards = [
        event
        for model in backward.models
        for event in training_forwards(plan, model)
        if event.order < backward.event.order
    ]
    around = {id(frame.node) for frame in backward.event.loops()}
    drawn = [forward for forward in forwards if draws_in(plan, forward, around)]
    if not drawn and any(id(loop.node) not in around for each in forwards for loop in each.loops()):
        # Many calls on what is there at the time, and one step for all of them.
        return Batch.ACTED
    if any(feeds_itself(forward) for forward in forwards):
        return Batch.ACTED
    return Batch.DRAWN if drawn else Batch.FIXED


def draws_in(plan: Plan, forward: Event, loops: set[int]) -> bool:
    """Whether what a call is given is, or may be, drawn anew in one of some loops."""
    made = made_in_loops(plan, loops)
    return any(
        is_of_unknown_origin(value)
        or (is_drawn(value) and (id(value) in made or not is_call(value)))
        for value in given(forward)
    )


def given(event: Event) -> Iterator[Value]:
    """All that the arguments of a call were made of."""
    values = tuple(value for item in event.arguments.items for value in item.values)
    return walk_back(values, lambda value: not isinstance(value, (Instance, Function)))


def made_in_loops(plan: Plan, loops: set[int]) -> set[int]:
    """The identities of what is made anew in one of some loops."""
    if "made in loops" not in plan.memo:
        plan.memo["made in loops"] = {
            id(value): {id(loop.node) for loop in event.loops()}
            for event in plan.facts.events
            for value in event.result
        }
    made: dict[int, set[int]] = plan.memo["made in loops"]
    return {identity for identity, around in made.items() if around & loops}


def is_call(value: Value) -> bool:
    """Whether a value is what a call gave."""
    return isinstance(value, Opaque) and value.kind == "call"


def is_of_unknown_origin(value: Value) -> bool:
    """Whether it is not seen what a value was made of."""
    if isinstance(value, (Unknown, Instance)):
        return True
    if not isinstance(value, Opaque):
        return False
    if value.arguments.unknown_because:
        return True
    return value.kind == "operation" and not any(value.operands)


def is_drawn(value: Value) -> bool:
    """Whether a value may be another each time that it is made of the same."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element":
        return True
    if value.kind == "item" and isinstance(value.node, cst.Subscript):
        return any(
            isinstance(part, cst.Name) for each in value.node.slice for part in descendants(each)
        )
    if value.kind != "call":
        return False
    return any(
        not name.startswith(REPEATABLE) or ".rand" in name or name == "builtins.next"
        for name in called_names(base_of_call(value))
    )


def base_of_call(value: Opaque) -> Value:
    """The call behind a chain of methods: ``torch.rand(3)`` of ``torch.rand(3).to(device).abs()``.

    What a library's object gives is as good as drawn by the call that made the object.
    """
    seen: Value = value
    for _ in range(MOST_METHODS):
        received = method_calls(seen)
        if not received or not received[0][1]:
            return seen
        seen = received[0][1][0]
    return seen


def feeds_itself(forward: Event) -> bool:
    """Whether a call is given what something outside of the script made of its own result."""
    own = {id(value) for value in outputs(forward)}
    return any(
        is_drawn(value)
        and isinstance(value, Opaque)
        and any(
            id(behind) in own
            for item in value.arguments.items
            for behind in walk_back(item.values, lambda v: not isinstance(v, (Instance, Function)))
        )
        for value in given(forward)
    )
