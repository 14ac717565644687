"""Which models' calls are split over the processes."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Class, Constant, Instance, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.function_gradients import parameter_gradients
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.wraps import Wrap, find_wrap
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rows.verdict import hook
from transpile.rules.pytorch.gradients._averaging import averaged_by_hand
from transpile.rules.pytorch.models._split.left_behind import handed_on
from transpile.rules.pytorch.models._split.rows import Axes, CallRows, rows_of

NOTHING_GIVEN = "it is given nothing that has a row for each sample"


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


@query
def split_of(plan: Plan, model: Model) -> Split:
    """What becomes of the calls of a trained model."""
    rows = rows_of(plan, model)
    reason = whole_because(plan, model, rows) or whole_for_another(plan, model, rows)
    return Split(model, rows, reason)


def whole_because(plan: Plan, model: Model, rows: CallRows) -> str:
    """Why the calls of a model cannot be split; empty where they can."""
    reason = unsplit_because(plan, model, rows, model.forwards)
    if reason:
        return reason
    wrap: Wrap | str = find_wrap(plan, model)
    if isinstance(wrap, str):
        return wrap
    if averaged_by_hand(plan, model):
        return "its gradients are averaged by hand: a wrap would stop at what calls leave out"
    if wrap.thawed:
        return "its parameters are frozen and unfrozen while it is trained"
    return ungiven_because(rows, model.forwards, training_forwards(plan, model))


def unsplit_because(plan: Plan, model: Model, rows: CallRows, calls: list[Event]) -> str:
    """Why what some calls of a model compute has no rows to split; empty where it has."""
    if rows.verdict == "coupled":
        mixing: str = rows.reason
        return mixing
    if rows.cause == "bundle":
        return "it gives an object of a library, whose rows cannot be put together"
    if gives_number(plan, calls):
        return "it gives one number for all samples"
    seen_within = hook(plan.facts)
    if seen_within is not None:
        # What a hook keeps or changes are this process's rows, whatever the outputs are.
        return f"{seen_within.reason}, and sees the rows of one process alone"
    beside = handed_on(plan, model)
    if beside:
        return f"'{beside}' may hand samples on beside the outputs"
    if parameter_gradients(plan, model):
        return "gradients of its parameters are taken by function, where no wrap averages them"
    return ""


def ungiven_because(rows: CallRows, calls: list[Event], training: list[Event]) -> str:
    """Why what some calls are given has no rows to split; empty where it has."""
    axes = (*rows.inputs, *rows.keywords.values())
    unpacked = any(event.arguments.unknown_because for event in calls)
    if not unpacked and all(axis is None for axis in axes):
        return NOTHING_GIVEN
    for event in training:
        if any(is_array(argument.values) for argument in event.arguments.items):
            return "it is given arrays of NumPy, not tensors"
        for argument in event.arguments.items:
            if (cls := class_of_objects(argument.values)) is not None:
                return f"it is given objects of '{cls.name}', not tensors"
    return ""


def gives_number(plan: Plan, calls: list[Event]) -> bool:
    """Whether calls give what a loss is added up from: one number for all samples."""
    given = {id(value) for event in calls for value in members(event.result)}
    for value in summands(plan):
        behind = value.operands[0] if value.kind in ("item", "attribute") else ()
        if id(value) in given or any(id(one) in given for one in behind):
            return True
    return False


def members(values: Values) -> Iterator[Value]:
    """Values, and what those of them hold that are lists or tuples."""
    for value in values:
        yield value
        if isinstance(value, Sequence):
            yield from members(value.every())


#: Operators whose operands are numbers where they give one.
NUMERIC = frozenset({"Add", "Subtract", "Multiply", "Divide", "Minus", "Plus"})


@query
def summands(plan: Plan) -> list[Opaque]:
    """What losses are added up and multiplied from, each a number as the loss is one."""
    losses = tuple(
        value
        for backward in plan.backwards
        if not backward.event.detached and backward.event.arguments.get("gradient", 0) is None
        for value in backward.loss
    )
    found = walk_back(losses, is_numeric)
    return [value for value in found if isinstance(value, Opaque) and not is_numeric(value)]


def is_numeric(value: Value) -> bool:
    """Whether a value is what an operator gives for numbers."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name in NUMERIC


def class_of_objects(values: Values) -> Class | None:
    """The class of the project whose objects are all that some lists hold; None for others."""
    held = [one for value in values if isinstance(value, Sequence) for one in value.every()]
    classes = [one.cls for one in held if isinstance(one, Instance)]
    return classes[0] if classes and len(classes) == len(held) else None


def whole_for_another(plan: Plan, model: Model, rows: CallRows) -> str:
    """Why the calls of a model cannot be split as they come of a place where it is one of several.

    One wrap serves all of them: of a model that a flag chooses, or that a library may exchange.
    """
    wrap: Wrap | str = find_wrap(plan, model)
    if isinstance(wrap, str):
        return ""
    for other in wrap.models:
        own = rows_of(plan, other)
        reason = whole_because(plan, other, own)
        if reason:
            return reason
        found_out = "check" in (rows.verdict, own.verdict)
        if (own.inputs, own.keywords) != (rows.inputs, rows.keywords) or (
            own.outputs != rows.outputs and not found_out
        ):
            return "the models that may stand here count their samples along different axes"
    return ""


def whole_beside(plan: Plan, model: Model) -> str:
    """Why a model whose calls could be split stands in a plain wrap; empty where it does not.

    The script wraps it where another one may stand, which has to be computed whole.
    """
    wrap: Wrap | str = find_wrap(plan, model)
    if isinstance(wrap, str) or split_of(plan, model).whole_because:
        return ""
    for other in plan.trained_models:
        theirs = find_wrap(plan, other)
        if other is model or isinstance(theirs, str):
            continue
        if theirs.node is wrap.node and theirs.text == wrap.text:
            if split_of(plan, other).whole_because:
                return f"another model that may stand in '{wrap.text}' has to be"
    return ""


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
    # What the first batch must show is found there for whichever model it is.
    first = next((split for split in splits if split.rows.verdict == "check"), splits[0])
    rows = first.rows
    return axis_arguments(rows, first.model.forwards)


def axis_arguments(rows: CallRows, calls: list[Event]) -> list[str]:
    """The arguments that say where the samples of some calls are counted."""
    found = []
    if any(axis != 0 for axis in given_inputs(rows, calls)):
        found.append(f"inputs={rows.inputs!r}")
    if any(axis != 0 for axis in given_keywords(rows, calls)):
        found.append(f"keywords={rows.keywords!r}")
    if not is_first(rows.outputs):
        found.append(f"outputs={rows.outputs!r}")
    return found


def split_kind(rows: list[CallRows], word: str) -> str:
    """The name of the helper that splits calls of what does this with the samples of a batch."""
    checked = "Checked" if any(one.verdict == "check" for one in rows) else ""
    law = "Distribution" if any(one.laws for one in rows) else ""
    return f"{checked}Split{law}{word}"


def given_inputs(rows: CallRows, calls: list[Event]) -> Iterator[int | None]:
    """The axes of the positional arguments that may be tensors."""
    for position, axis in enumerate(rows.inputs):
        for event in calls:
            arguments = event.arguments.positional()
            if position < len(arguments) and not is_plain(arguments[position].values):
                yield axis
                break


def given_keywords(rows: CallRows, calls: list[Event]) -> Iterator[int | None]:
    """The axes of the arguments with keywords that may be tensors."""
    for name, axis in rows.keywords.items():
        for event in calls:
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
