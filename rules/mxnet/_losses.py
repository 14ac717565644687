"""Whether the loss of a batch adds up over its samples or is their mean."""

from __future__ import annotations

from enum import Enum

from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names


class Reduction(Enum):
    """How the gradient of a batch grows with its samples."""

    SUM = "sum"
    MEAN = "mean"
    NONE = "none"
    UNKNOWN = "unknown"


#: Calls whose result goes on sample by sample, or scales it.
KEEPING = frozenset(
    {
        "as_in_context", "as_in_ctx", "as_nd_ndarray", "as_np_ndarray", "astype", "copyto",
        "reshape", "squeeze", "expand_dims", "flatten", "slice_axis", "abs", "square", "log",
        "exp", "sqrt", "clip", "transpose",
    }
)  # fmt: skip
MEANS = frozenset({"mean"})
SUMS = frozenset({"sum", "add_n", "ElementWiseSum"})
ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "Divide", "Minus", "Power", "Plus"})
#: Losses of Gluon that mix the samples of a batch, or divide by other numbers than theirs.
UNUSUAL = frozenset({"mxnet.gluon.loss.SDMLLoss"})


def reduction(values: Values, depth: int = 0) -> Reduction:
    """How the loss that a backward pass starts from is reduced."""
    found = {reduction_of(value, depth) for value in values} - {Reduction.NONE}
    if not found:
        return Reduction.NONE
    return found.pop() if len(found) == 1 else Reduction.UNKNOWN


def reduction_of(value: Value, depth: int) -> Reduction:
    """See :func:`reduction`."""
    if depth > 12:
        return Reduction.UNKNOWN
    if isinstance(value, Constant):
        return Reduction.NONE
    if isinstance(value, Sequence):
        return reduction(value.every(), depth + 1)
    if not isinstance(value, Opaque):
        return Reduction.UNKNOWN
    if value.kind == "operation":
        if ARITHMETIC.issuperset(value.name.split()):
            return arithmetic(value, depth)
        return reduction(tuple(v for group in value.operands for v in group), depth + 1)
    if value.kind == "call":
        return reduction_of_call(value, depth)
    if value.kind in ("element", "item"):
        return reduction(value.operands[0], depth + 1)
    return Reduction.UNKNOWN


def arithmetic(value: Opaque, depth: int) -> Reduction:
    """How a sum, product or quotient is reduced: as what in it is a loss."""
    if "Divide" in value.name and len(value.operands) == 2 and is_size(value.operands[1]):
        return Reduction.MEAN
    found = {reduction(group, depth + 1) for group in value.operands} - {Reduction.NONE}
    if not found:
        return Reduction.NONE
    return found.pop() if len(found) == 1 else Reduction.UNKNOWN


def is_size(values: Values) -> bool:
    """Whether values are the number of samples of a batch, as in ``data.shape[0]``."""
    return any(from_shape(value, 0) for value in values)


def from_shape(value: Value, depth: int) -> bool:
    """Whether a value is read off a shape."""
    if depth > 6 or not isinstance(value, Opaque):
        return False
    if value.kind == "attribute" and value.name in ("shape", "size"):
        return True
    if value.kind == "operation" and value.name == "len":
        return True
    return any(from_shape(v, depth + 1) for group in value.operands for v in group)


def reduction_of_call(value: Opaque, depth: int) -> Reduction:
    """How the result of a call is reduced."""
    if value.inner:
        return reduction(value.inner, depth + 1)
    for callee in value.callee:
        if isinstance(callee, External):
            return reduction_of_function(callee.name, value, depth)
        if isinstance(callee, Instance):
            bases = callee.cls.external_bases()
            return Reduction.SUM if is_loss_class(bases) else Reduction.UNKNOWN
        if isinstance(callee, Opaque):
            if any(is_loss_class((name,)) for name in called_names(callee)):
                return Reduction.SUM
            if callee.kind == "attribute":
                return reduction_of_method(callee, value, depth)
    return Reduction.UNKNOWN


def is_loss_class(names: tuple[str, ...]) -> bool:
    """Whether a class gives one number for each sample, as the losses of Gluon do."""
    return any(name.startswith("mxnet.gluon.loss.") and name not in UNUSUAL for name in names)


def reduction_of_function(name: str, call: Opaque, depth: int) -> Reduction:
    """How the result of a function of MXNet is reduced."""
    last = name.rpartition(".")[2]
    if not name.startswith("mxnet."):
        return Reduction.UNKNOWN
    return by_word(
        last, call, call.arguments.items[0].values if call.arguments.items else (), depth
    )


def reduction_of_method(callee: Opaque, call: Opaque, depth: int) -> Reduction:
    """How the result of a method of an array is reduced."""
    return by_word(callee.name, call, callee.operands[0], depth)


def by_word(word: str, call: Opaque, behind: Values, depth: int) -> Reduction:
    """What a function or method with that name does to what it is called on."""
    axis = call.arguments.keyword("axis") or call.arguments.keyword("exclude")
    inner = reduction(behind, depth + 1)
    if word in MEANS and axis is None:
        return Reduction.MEAN
    if word in SUMS and inner is not Reduction.MEAN:
        return Reduction.SUM
    if inner is Reduction.UNKNOWN and word in MEANS | SUMS | KEEPING:
        return Reduction.SUM if word not in MEANS else Reduction.UNKNOWN
    return inner if word in KEEPING or inner is not Reduction.NONE else Reduction.UNKNOWN
