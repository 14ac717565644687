"""Whether the loss of a batch adds up over its samples or is their mean."""

from __future__ import annotations

from collections.abc import Callable
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
from transpile.records import dataclass, field
from transpile.rules.mxnet.losses._axes import Axes, leads_with_one, taken_axes


class Reduction(Enum):
    """How the gradient of a batch grows with its samples."""

    SAMPLES = "one number for each sample"
    SUM = "sum"
    MEAN = "mean"
    NONE = "none"
    UNEVEN = "sum, and something that the samples have no part in"
    MIXED = "one number for each sample, and something of the whole batch"
    COUPLED = "no sum or mean: something made of the sum or mean of the batch"
    UNKNOWN = "unknown"


#: Calls whose result goes on sample by sample, with the same numbers or scaled.
KEEPING = frozenset(
    {
        "as_in_context", "as_in_ctx", "as_nd_ndarray", "as_np_ndarray", "astype", "copyto", "cast",
        "Cast", "reshape", "Reshape", "reshape_like", "squeeze", "expand_dims", "flatten",
        "Flatten", "slice_axis", "transpose", "negative", "identity",
    }
)  # fmt: skip
#: Calls whose result goes on sample by sample, but is no multiple of what they are given.
CURVED = frozenset(
    {
        "abs", "square", "log", "log1p", "log2", "exp", "expm1", "sqrt", "rsqrt", "cbrt", "clip",
        "sigmoid", "relu", "softrelu", "tanh", "reciprocal", "pick", "softmax", "log_softmax",
        "smooth_l1", "Activation", "LeakyReLU", "erf", "sign",
    }
)  # fmt: skip
#: Calls of two tensors that work as the arithmetic of the second name does.
OF_TWO = {
    "broadcast_add": "Add", "broadcast_plus": "Add", "broadcast_sub": "Subtract",
    "broadcast_minus": "Subtract", "broadcast_mul": "Multiply", "broadcast_div": "Divide",
    "broadcast_power": "Power", "elemwise_add": "Add", "elemwise_sub": "Subtract",
    "elemwise_mul": "Multiply", "elemwise_div": "Divide", "add": "Add", "subtract": "Subtract",
    "multiply": "Multiply", "divide": "Divide", "power": "Power", "maximum": "Power",
    "minimum": "Power", "broadcast_maximum": "Power", "broadcast_minimum": "Power",
}  # fmt: skip
#: Products of matrices, which of two made of samples bring each sample together with each other.
PRODUCTS = frozenset({"dot", "matmul", "linalg_gemm2", "linalg_syrk", "linalg_gemm"})
#: Calls along an axis, or over all of them, that choose among what they are given.
CHOOSING = frozenset(
    {"max", "min", "norm", "prod", "sort", "argsort", "topk", "cumsum", "reverse", "flip"}
)
MEANS = frozenset({"mean"})
SUMS = frozenset({"sum", "add_n", "ElementWiseSum"})
ADDING = frozenset({"Add", "Subtract", "Plus", "Minus"})
#: Methods that give parameters, or their values.
PARAMETERS = frozenset({"data", "list_data", "collect_params", "values"})
ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "Divide", "Minus", "Power", "Plus"})
#: Losses of Gluon that mix the samples of a batch, or divide by other numbers than theirs.
UNUSUAL = frozenset({"mxnet.gluon.loss.SDMLLoss"})


#: What is one number for the whole batch.
OF_BATCH = frozenset({Reduction.SUM, Reduction.MEAN, Reduction.COUPLED})
#: What weighs the losses of Gluon: it goes on with its second argument.
WEIGHTING = "mxnet.gluon.loss._apply_weighting"
#: Values within each other that are analysed.
DEEPEST = 40


@dataclass(frozen=True)
class Reader:
    """Reads how a loss is reduced off the values that it is made of.

    Args:
        depends: whether a value depends on training data.
    """

    depends: Callable[[Values], bool]
    path: list[Value] = field(default_factory=list)
    known: dict[int, Reduction] = field(default_factory=dict)

    def reduction(self, values: Values, depth: int = 0) -> Reduction:
        """How the loss that a backward pass starts from is reduced."""
        return one_of({self.of_value(value, depth) for value in values})

    def of_value(self, value: Value, depth: int) -> Reduction:
        """See :meth:`reduction`."""
        if depth > DEEPEST:
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
        if id(value) not in self.known:
            self.path.append(value)
            try:
                self.known[id(value)] = self.of_opaque(value, depth)
            finally:
                self.path.pop()
        return self.known[id(value)]

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
        return self.combined(frozenset(value.name.split()), value.operands, depth)

    def combined(
        self, operators: frozenset[str], operands: tuple[Values, ...], depth: int
    ) -> Reduction:
        """How what arithmetic makes of some operands is reduced."""
        moving = [group for group in operands if self.depends(group)]
        still = [group for group in operands if group not in moving]
        kinds = [self.reduction(group, depth + 1) for group in moving or still]
        if not ADDING.issuperset(operators):
            whole = sum(kind in OF_BATCH for kind in kinds)
            if whole > 1 or (whole and "Power" in operators):
                return Reduction.COUPLED
            if "Divide" in operators and len(kinds) == 2 and kinds[1] in OF_BATCH:
                return Reduction.COUPLED
        found = one_of(set(kinds))
        adds = ADDING.issuperset(operators)
        if adds and moving and found is Reduction.SUM and any(map(learns, still)):
            return Reduction.UNEVEN
        if found is Reduction.UNKNOWN and any(kind in OF_BATCH for kind in kinds):
            return Reduction.MIXED
        return found

    def of_call(self, value: Opaque, depth: int) -> Reduction:
        """How the result of a call is reduced."""
        if value.inner:
            found = self.reduction(value.inner, depth + 1)
            return found if found is not Reduction.UNKNOWN else self.of_own_loss(value.callee)
        for callee in value.callee:
            if isinstance(callee, External):
                return self.of_function(callee.name, value, depth)
            if isinstance(callee, Instance):
                return self.of_own_loss((callee,))
            if isinstance(callee, Opaque):
                if any(is_loss_class((name,)) for name in called_names(callee)):
                    return Reduction.SAMPLES
                if callee.kind == "attribute":
                    return self.by_word(callee.name, value, callee.operands[0], depth)
        return Reduction.UNKNOWN

    def of_own_loss(self, callees: Values) -> Reduction:
        """How the result of a loss of the script is reduced, by how it is written."""
        own = callees and all(
            isinstance(callee, Instance)
            and is_loss_class(callee.cls.external_bases())
            and keeps_samples(callee.cls)
            for callee in callees
        )
        return Reduction.SAMPLES if own else Reduction.UNKNOWN

    def mixes_inputs(self, losses: Values) -> bool:
        """Whether something of the whole batch is mixed into what a layer or loss is given."""
        inputs = tuple(
            given
            for value in walk_back(losses)
            if isinstance(value, Opaque) and value.kind == "call" and calls_object(value)
            for argument in value.arguments.items
            for given in argument.values
        )
        mixed = (Reduction.MIXED, Reduction.COUPLED)
        return any(
            self.of_value(value, 0) in mixed
            for value in walk_back(inputs)
            if isinstance(value, Opaque) and value.kind in ("operation", "call")
        )

    def of_function(self, name: str, call: Opaque, depth: int) -> Reduction:
        """How the result of a function outside the script is reduced."""
        given = [argument.values for argument in call.arguments.items if argument.keyword is None]
        first = given[0] if given else ()
        if name == "builtins.sum":
            return self.reduction(first, depth + 1)
        if name == WEIGHTING and len(given) > 1:
            return self.reduction(given[1], depth + 1)
        if not name.startswith("mxnet."):
            return Reduction.UNKNOWN
        word = name.rpartition(".")[2]
        if word in OF_TWO and len(given) == 2:
            return self.combined(frozenset({OF_TWO[word]}), tuple(given), depth)
        return self.by_word(word, call, first, depth, 1)

    def by_word(
        self, word: str, call: Opaque, behind: Values, depth: int, axis_place: int = 0
    ) -> Reduction:
        """What a function or method with that name does to what it is called on.

        Args:
            word: the name.
            call: the call.
            behind: what it is called on.
            depth: how many values this one is within.
            axis_place: where in the call's arguments the axis stands.
        """
        inner = self.reduction(behind, depth + 1)
        if inner is Reduction.UNEVEN:
            return inner
        if self.brings_together(word, call, behind, axis_place):
            whole = word in CHOOSING and taken_axes(call, axis_place) is Axes.ALL
            return Reduction.COUPLED if whole else Reduction.MIXED
        if word in MEANS | SUMS:
            return reduced(inner, word in MEANS, taken_axes(call, axis_place))
        if inner in OF_BATCH | {Reduction.MIXED} and word in CURVED:
            return Reduction.COUPLED if inner in OF_BATCH else inner
        if inner is Reduction.UNKNOWN and word in KEEPING | CURVED:
            return Reduction.SAMPLES
        known = word in KEEPING | CURVED
        return inner if known or inner is not Reduction.NONE else Reduction.UNKNOWN

    def brings_together(self, word: str, call: Opaque, behind: Values, axis_place: int) -> bool:
        """Whether a call makes of each sample something that others have a part in."""
        if not self.depends(behind):
            return False
        if word in CHOOSING:
            return taken_axes(call, axis_place) in (Axes.ALL, Axes.BATCH)
        if word == "expand_dims":
            return bool(taken_axes(call, axis_place) is Axes.BATCH)
        if word in ("reshape", "Reshape"):
            leads: bool = leads_with_one(call, axis_place)
            return leads
        others = [argument.values for argument in call.arguments.positional()[axis_place:]]
        paired = word == "linalg_syrk" or any(self.depends(values) for values in others)
        return paired and word in PRODUCTS


def reduced(inner: Reduction, mean: bool, axes: Axes) -> Reduction:
    """How a mean or sum of something is reduced.

    Args:
        inner: how that is reduced.
        mean: whether it is a mean.
        axes: what it is taken over.
    """
    if inner is Reduction.MIXED:
        return Reduction.COUPLED
    if inner in OF_BATCH:
        return inner
    if axes is Axes.UNKNOWN:
        return Reduction.UNKNOWN
    if axes is Axes.OTHERS:
        return Reduction.SAMPLES
    return Reduction.MEAN if mean else Reduction.SUM


def one_of(found: set[Reduction]) -> Reduction:
    """What is left of several ways to reduce."""
    found = found - {Reduction.NONE}
    if not found:
        return Reduction.NONE
    for kind in (Reduction.UNEVEN, Reduction.COUPLED, Reduction.MIXED):
        if kind in found:
            return kind
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


def calls_object(call: Opaque) -> bool:
    """Whether a call is one of an object, such as a layer or a loss."""
    return any(
        isinstance(callee, Instance) or (isinstance(callee, Opaque) and callee.kind == "call")
        for callee in call.callee
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
