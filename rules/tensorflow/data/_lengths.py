"""How many samples and batches there are in data of TensorFlow and Keras."""

from __future__ import annotations

import libcst as cst

from transpile.arithmetic.formula import (
    Formula,
    divide_down,
    divide_up,
    multiply,
    name,
    number,
    operation,
    unanimous,
)
from transpile.arithmetic.lengths import length_of_range
from transpile.arithmetic.reading import Reader
from transpile.facts.values import Argument, Constant, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls
from transpile.rules.tensorflow.data._batches import BATCHING, DEFAULT, drops_remainder

SLICES = frozenset({"tensorflow.data.Dataset.from_tensor_slices"})
RANGE = "tensorflow.data.Dataset.range"
WHOLE = "tensorflow.data.Dataset.from_tensors"
#: Methods that give as many elements as they are given.
KEEPING = frozenset({"shuffle", "map", "prefetch", "cache", "with_options", "snapshot"})
#: Data sets of Keras to the samples of their parts, as their pages say.
PARTS = {
    "mnist": (60000, 10000), "fashion_mnist": (60000, 10000), "cifar10": (50000, 10000),
    "cifar100": (50000, 10000), "imdb": (25000, 25000),
}  # fmt: skip


def length(reader: Reader, values: Values, node: cst.CSTNode | None) -> Formula:
    """How many samples arrays have, or the first of several."""
    found = unanimous(samples(reader, value) for value in values)
    if found is not None:
        return found
    text = reader.words(first_of(node))
    return name(f"len({text})", f"the length of '{text}' is known when the script runs")


def first_of(node: cst.CSTNode | None) -> cst.CSTNode | None:
    """The first of several expressions, of which all have as many samples."""
    while isinstance(node, (cst.Tuple, cst.List, cst.Dict)) and node.elements:
        node = node.elements[0].value
    return node


def samples(reader: Reader, value: Value) -> Formula | None:
    """How many samples there are in arrays that belong together."""
    if isinstance(value, Mapping) and value.entries:
        parts = [entry.values for entry in value.entries.values()]
        return unanimous(samples(reader, one) for one in parts[0])
    if isinstance(value, Sequence) and value.kind in ("tuple", "list") and value.elements:
        return unanimous(samples(reader, one) for one in value.elements[0])
    return reader.length_of(value)


def rounds_of_data(reader: Reader, value: Value) -> Formula | None:
    """The elements of a data set; None for anything else, and where they do not end."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return None
    names = called_names(value)
    first = value.arguments.get("tensors", 0)
    if SLICES.intersection(names) and first is not None:
        return length(reader, first.values, first.node)
    if WHOLE in names:
        return number(1)
    if RANGE in names:
        return length_of_range(reader, value.arguments)
    found = [changed(reader, value, method, given) for method, given in method_calls(value)]
    return unanimous(found)


def changed(reader: Reader, value: Opaque, method: str, receiver: Values) -> Formula | None:
    """The elements of what a method makes of a data set."""
    if method == "flow":
        data, size = value.arguments.get("x", 0), value.arguments.get("batch_size", 2)
        if data is None:
            return None
        batch = reader.argument(size, number(int(DEFAULT)))
        return divide_up(length(reader, data.values, data.node), batch or number(int(DEFAULT)))
    given = value.arguments.items[:1]
    count = reader.formula(given[0].values, given[0].node) if given else None
    if method == "take" and count is not None and all(is_endless(one) for one in receiver):
        return count
    whole = unanimous(rounds_of_data(reader, one) for one in receiver)
    if whole is None:
        return None
    if method in KEEPING:
        return whole
    if method in BATCHING:
        said = value.arguments.get("batch_size", 0)
        drops = drops_remainder(value.arguments.keyword("drop_remainder"))
        if said is None or drops is None:
            return None
        divide = divide_down if drops else divide_up
        return divide(whole, reader.formula(said.values, said.node))
    if count is None:
        return None
    if method == "repeat" and not is_endless(value):
        return multiply(whole, count)
    if method == "take":
        return operation("min", whole, count)
    if method == "skip":
        return operation("max", number(0), operation("-", whole, count))
    return None


def is_endless(value: Value) -> bool:
    """Whether a data set goes on for ever."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    for method, receiver in method_calls(value):
        if method == "repeat" and counts_nothing(value.arguments.get("count", 0)):
            return True
        if method in KEEPING | BATCHING and all(is_endless(one) for one in receiver):
            return bool(receiver)
    return False


def counts_nothing(given: Argument | None) -> bool:
    """Whether ``repeat`` is told no number of rounds."""
    if given is None:
        return True
    held = given.values[0] if len(given.values) == 1 else None
    return isinstance(held, Constant) and held.value in (None, -1)


def size_of_library(value: Opaque, reader: Reader) -> Formula | None:
    """The samples of arrays of a data set of Keras: ``(x, y), _ = mnist.load_data()``."""
    index: list[object] = []
    inner: Value = value
    while isinstance(inner, Opaque) and inner.kind == "item" and len(index) < 2:
        if len(inner.index) != 1 or not isinstance(inner.index[0], Constant):
            return None
        index.insert(0, inner.index[0].value)
        if len(inner.operands[0]) != 1:
            return None
        inner = inner.operands[0][0]
    if len(index) != 2 or index[0] not in (0, 1):
        return None
    for dotted in called_names(inner):
        module, _, function = dotted.rpartition(".")
        part = module.rpartition(".")[2]
        if function == "load_data" and module.startswith("keras.datasets.") and part in PARTS:
            count = PARTS[part][int(str(index[0]))]
            which = ("training", "test")[int(str(index[0]))]
            return number(count, f"{count} is the length of {part}'s {which} set")
    return None
