"""Where a script says how large the batches are that it trains on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, Constant, Opaque, Value, Values
from transpile.plan.data.batch_size.said import Said, said_at
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.tensorflow._sites import fits, loops_by_hand, receivers_of, taped_calls

#: What makes batches: methods of data sets, where the first argument says how large they are.
BATCHING = frozenset({"batch", "padded_batch", "ragged_batch"})
#: Methods of generators that make batches of this many samples without being told.
FLOWING = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
#: Functions that give batches, to what they make of no argument; none where one is needed.
READERS = {
    "keras.utils.image_dataset_from_directory": "32",
    "keras.preprocessing.image_dataset_from_directory": "32",
    "keras.utils.text_dataset_from_directory": "32",
    "keras.preprocessing.text_dataset_from_directory": "32",
    "keras.utils.audio_dataset_from_directory": "32",
    "keras.utils.timeseries_dataset_from_array": "128",
    "keras.preprocessing.timeseries_dataset_from_array": "128",
    "tensorflow.data.experimental.make_csv_dataset": "",
    "tensorflow.data.experimental.make_batched_features_dataset": "",
}
#: Where arrays come from, which ``fit`` cuts into batches itself.
ARRAYS = ("numpy.", "keras.datasets.", "pandas.", "sklearn.")
TENSORS = ("tensorflow.random.", "tensorflow.constant", "tensorflow.convert_to_tensor")
DEFAULT = "32"


@dataclass(frozen=True, eq=False)
class Size:
    """How large batches of training data are.

    Args:
        event: the call that makes batches.
        node: the expression that says it; None where nothing does.
        default: what counts where nothing says it.
        why_not: why it cannot be told; empty where it can.
    """

    event: Event
    node: cst.BaseExpression | None = None
    default: str = ""
    why_not: str = ""


@query
def sizes(plan: Plan) -> list[Size]:
    """The sizes of the batches that are trained on, each place once."""
    found: dict[int, Size] = {}
    for size in find_sizes(plan):
        found.setdefault(id(size.node or size.event.node), size)
    return list(found.values())


@query
def said(plan: Plan) -> list[Said]:
    """Where the script says these sizes, each place once."""
    found: dict[int, Said] = {}
    for size in sizes(plan):
        if size.node is not None and not size.why_not:
            for place in said_at(plan, size.event.module, size.node, size.event.stack):
                found.setdefault(id(place.node), place)
    return list(found.values())


def find_sizes(plan: Plan) -> Iterator[Size]:
    """See :func:`sizes`."""
    for event in fits(plan):
        yield from sizes_of_fit(plan, event)
    if not loops_by_hand(plan):
        return
    calls = list(taped_calls(plan))
    made = [
        size
        for event in calls
        for item in event.arguments.items
        for size in sizes_behind(plan, item.values)
    ]
    yield from made
    if not made:
        for event in loops_by_hand(plan):
            why = "the batches of this loop do not come from a tf.data.Dataset"
            yield Size(event, why_not=why)


def sizes_of_fit(plan: Plan, event: Event) -> Iterator[Size]:
    """The sizes of the batches that a call of ``fit`` trains on."""
    data = event.arguments.get("x", 0)
    made = list(sizes_behind(plan, data.values)) if data is not None else []
    if made:
        yield from made
        return
    position = 2 if receivers_of(event, frozenset({"fit"})) is not None else None
    said = event.arguments.get("batch_size", position)
    if said is not None:
        yield size_of(event, said)
    elif data is not None and position is not None and is_array(data.values):
        yield Size(event, default=DEFAULT)
    else:
        why = "it is not seen what makes the batches that this trains on"
        yield Size(event, why_not=why)


def sizes_behind(plan: Plan, values: Values) -> Iterator[Size]:
    """The sizes of the batches that values came from."""
    for value in walk_back(values):
        if isinstance(value, Opaque) and value.kind == "call":
            event = calls_by_place(plan).get(id(value.node))
            if event is not None and (size := made_by(event, value)) is not None:
                yield size


@query
def calls_by_place(plan: Plan) -> dict[int, Event]:
    """A call at each place; one that a run comes to where there is one."""
    found: dict[int, Event] = {}
    for event in plan.facts.calls:
        kept = found.get(id(event.node))
        if kept is None or kept.detached:
            found[id(event.node)] = event
    return found


def made_by(event: Event, value: Value) -> Size | None:
    """The size of the batches that a call makes; None where it makes none."""
    if (receivers := receivers_of(event, BATCHING)) is not None:
        if not any(name.startswith("tensorflow.data.") for name in names_behind(receivers)):
            return None
        return size_of(event, event.arguments.get("batch_size", 0))
    if receivers_of(event, FLOWING) is not None:
        return size_of(event, event.arguments.get("batch_size"), DEFAULT)
    for name in called_names(value):
        if name in READERS:
            position = 1 if not READERS[name] else None
            return size_of(event, event.arguments.get("batch_size", position), READERS[name])
    return None


def names_behind(values: Values) -> set[str]:
    """What was called on the way to values."""
    return {name for value in walk_back(values) for name in called_names(value)}


def size_of(event: Event, argument: Argument | None, default: str = "") -> Size:
    """The size that an argument says."""
    if argument is None and default and not event.arguments.unknown_because:
        return Size(event, default=default)
    if argument is None or not isinstance(argument.node, cst.BaseExpression):
        return Size(event, why_not="it is not seen what this is given as the size of a batch")
    return Size(event, argument.node)


def is_array(values: Values) -> bool:
    """Whether all of what values came from are arrays."""
    names = names_behind(values)
    return (
        bool(names)
        and not any(name.startswith(("tensorflow.data.", "keras.utils.")) for name in names)
        and any(name.startswith((*ARRAYS, *TENSORS)) for name in names)
    )


def drops_remainder(argument: Argument | None) -> bool | None:
    """Whether an incomplete last batch is left out; None where that is not known."""
    if argument is None:
        return False
    held = argument.values[0] if len(argument.values) == 1 else None
    return held.value if isinstance(held, Constant) and isinstance(held.value, bool) else None
