"""Whether the loss of a batch adds up over its samples or is their mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst

from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, method_calls, walk_back


class Reduction(Enum):
    """How the gradient of a batch grows with its samples."""

    SAMPLES = "one number for each sample"
    SUM = "sum"
    MEAN = "mean"
    NONE = "none"
    UNEVEN = "sum, and something that the samples have no part in"
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
ADDING = frozenset({"Add", "Subtract", "Plus", "Minus"})
#: Methods that give parameters, or their values.
PARAMETERS = frozenset({"data", "list_data", "collect_params", "values"})
ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "Divide", "Minus", "Power", "Plus"})
#: Losses of Gluon that mix the samples of a batch, or divide by other numbers than theirs.
UNUSUAL = frozenset({"mxnet.gluon.loss.SDMLLoss"})


@dataclass(frozen=True)
class Reader:
    """Reads how a loss is reduced off the values that it is made of.

    Args:
        depends: whether a value depends on training data.
    """

    depends: Callable[[Values], bool]
    path: list[Value] = field(default_factory=list)

    def reduction(self, values: Values, depth: int = 0) -> Reduction:
        """How the loss that a backward pass starts from is reduced."""
        return one_of({self.of_value(value, depth) for value in values})

    def of_value(self, value: Value, depth: int) -> Reduction:
        """See :meth:`reduction`."""
        if depth > 12:
            return Reduction.UNKNOWN
        if isinstance(value, Constant):
            return Reduction.NONE
        if isinstance(value, Sequence):
            return self.reduction(value.every(), depth + 1)
        if not isinstance(value, Opaque):
            return Reduction.UNKNOWN
        if any(value is earlier for earlier in self.path):
            # What a loop adds to.
            return Reduction.NONE
        self.path.append(value)
        try:
            return self.of_opaque(value, depth)
        finally:
            self.path.pop()

    def of_opaque(self, value: Opaque, depth: int) -> Reduction:
        """How an inner node of the graph of values is reduced."""
        if value.kind == "operation":
            if ARITHMETIC.issuperset(value.name.split()):
                return self.of_arithmetic(value, depth)
            operands = tuple(v for group in value.operands for v in group)
            return self.reduction(operands, depth + 1)
        if value.kind == "call":
            return self.of_call(value, depth)
        if value.kind in ("element", "item"):
            return self.reduction(value.operands[0], depth + 1)
        return Reduction.UNKNOWN

    def of_arithmetic(self, value: Opaque, depth: int) -> Reduction:
        """How a sum, product or quotient is reduced: as what in it depends on the batch."""
        if "Divide" in value.name and len(value.operands) == 2 and is_size(value.operands[1]):
            return Reduction.MEAN
        moving = [group for group in value.operands if self.depends(group)]
        still = [group for group in value.operands if group not in moving]
        found = one_of({self.reduction(group, depth + 1) for group in moving or still})
        adds = ADDING.issuperset(value.name.split())
        if adds and moving and found is Reduction.SUM and any(map(learns, still)):
            return Reduction.UNEVEN
        return found

    def of_call(self, value: Opaque, depth: int) -> Reduction:
        """How the result of a call is reduced."""
        if value.inner:
            return self.reduction(value.inner, depth + 1)
        for callee in value.callee:
            if isinstance(callee, External):
                return self.of_function(callee.name, value, depth)
            if isinstance(callee, Instance):
                own = is_loss_class(callee.cls.external_bases()) and keeps_samples(callee.cls)
                return Reduction.SAMPLES if own else Reduction.UNKNOWN
            if isinstance(callee, Opaque):
                if any(is_loss_class((name,)) for name in called_names(callee)):
                    return Reduction.SAMPLES
                if callee.kind == "attribute":
                    return self.by_word(callee.name, value, callee.operands[0], depth)
        return Reduction.UNKNOWN

    def of_function(self, name: str, call: Opaque, depth: int) -> Reduction:
        """How the result of a function outside the script is reduced."""
        first = call.arguments.items[0].values if call.arguments.items else ()
        if name == "builtins.sum":
            return self.reduction(first, depth + 1)
        if not name.startswith("mxnet."):
            return Reduction.UNKNOWN
        return self.by_word(name.rpartition(".")[2], call, first, depth)

    def by_word(self, word: str, call: Opaque, behind: Values, depth: int) -> Reduction:
        """What a function or method with that name does to what it is called on."""
        axis = call.arguments.keyword("axis") or call.arguments.keyword("exclude")
        inner = self.reduction(behind, depth + 1)
        if inner is Reduction.UNEVEN:
            return inner
        if word in MEANS and axis is None:
            return Reduction.MEAN
        if word in SUMS and inner is not Reduction.MEAN:
            return Reduction.SUM if axis is None else Reduction.SAMPLES
        if inner is Reduction.UNKNOWN and word in MEANS | SUMS | KEEPING:
            return Reduction.SAMPLES if word not in MEANS else Reduction.UNKNOWN
        return inner if word in KEEPING or inner is not Reduction.NONE else Reduction.UNKNOWN


def one_of(found: set[Reduction]) -> Reduction:
    """What is left of several ways to reduce."""
    found = found - {Reduction.NONE}
    if not found:
        return Reduction.NONE
    if Reduction.UNEVEN in found:
        return Reduction.UNEVEN
    if found == {Reduction.SAMPLES, Reduction.SUM}:
        return Reduction.SUM
    return found.pop() if len(found) == 1 else Reduction.UNKNOWN


def keeps_samples(cls: Class) -> bool:
    """Whether a loss of the script gives one number for each sample, as those of Gluon do.

    It leaves that to its base, or ends with a mean over everything but the batch.
    """
    for name in ("hybrid_forward", "forward"):
        for function in cls.scope.names.get(name, ()):
            if isinstance(function, Function) and not all(
                excludes_batch(node.value)
                for node in descendants(function.node)
                if isinstance(node, cst.Return)
            ):
                return False
    return True


def excludes_batch(node: cst.BaseExpression | None) -> bool:
    """Whether an expression is a mean or sum over all axes but that of the batch."""
    return isinstance(node, cst.Call) and any(
        given.keyword is not None
        and given.keyword.value == "exclude"
        and isinstance(given.value, cst.Name)
        and given.value.value == "True"
        for given in node.args
    )


def learns(values: Values) -> bool:
    """Whether values are made of parameters, so that they have gradients of their own."""
    return any(
        name in PARAMETERS for value in walk_back(values) for name, _ in method_calls(value)
    ) or any(
        isinstance(value, Opaque) and value.kind == "attribute" and value.name in ("weight", "bias")
        for value in walk_back(values)
    )


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


def picks_samples(value: Value) -> bool:
    """Whether a value is some samples of a batch, taken by their places, as in ``output[:4]``."""
    if not isinstance(value, Opaque) or value.kind != "item":
        return False
    if not isinstance(value.node, cst.Subscript) or not value.node.slice:
        return False
    bounds = value.node.slice[0].slice
    if not isinstance(bounds, cst.Slice) or (bounds.lower is None and bounds.upper is None):
        return False
    # A shape is no batch, nor is what a loader delivers: a list of arrays.
    return not any(from_shape(base, 0) or is_delivered(base) for base in value.operands[0])


def is_delivered(value: Value) -> bool:
    """Whether a value is what a loop draws, and no part of it."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and not any(isinstance(v, Opaque) and v.kind == "element" for v in value.operands[0])
    )


def is_loss_class(names: tuple[str, ...]) -> bool:
    """Whether a class gives one number for each sample, as the losses of Gluon do."""
    return any(name.startswith("mxnet.gluon.loss.") and name not in UNUSUAL for name in names)
