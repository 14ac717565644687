"""What a loss is: a mean over samples, a sum over them, or something that is not recognised."""

from __future__ import annotations

from enum import Enum

from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind as Part
from transpile.quantity.asking import quantity

LAYERS = "paddle.fluid.layers."
ADDING = frozenset(
    f"{LAYERS}{name}" for name in ("elementwise_add", "elementwise_sub", "sums", "sum")
)
MULTIPLYING = frozenset({f"{LAYERS}elementwise_mul", f"{LAYERS}elementwise_div"})
SCALING = frozenset({f"{LAYERS}scale", f"{LAYERS}cast", f"{LAYERS}assign"})
#: Layers that put the same numbers into another shape.
SHAPING = frozenset(
    f"{LAYERS}{name}" for name in ("reshape", "squeeze", "unsqueeze", "flatten", "transpose")
)
#: Those of them that leave the first dimension where it is, as they are used.
KEEPING = frozenset(f"{LAYERS}{name}" for name in ("squeeze", "unsqueeze"))
#: Layers after which a mean of what went in is no mean of what comes out.
CURVES = frozenset(
    f"{LAYERS}{name}"
    for name in (
        "square", "sqrt", "rsqrt", "exp", "log", "abs", "relu", "sigmoid", "tanh", "softplus",
        "logsigmoid", "pow", "clip", "reciprocal", "elementwise_max", "elementwise_min",
        "elementwise_pow",
    )
)  # fmt: skip
MEANS = frozenset({f"{LAYERS}mean", f"{LAYERS}reduce_mean"})
LABELLED = frozenset(
    f"{LAYERS}{name}"
    for name in (
        "cross_entropy", "softmax_with_cross_entropy", "square_error_cost", "log_loss",
        "sigmoid_cross_entropy_with_logits", "smooth_l1", "huber_loss", "nce", "hsigmoid",
        "bpr_loss",
    )
)  # fmt: skip
DATA = frozenset({f"{LAYERS}data", "paddle.fluid.data"})
NORMALISING = frozenset({f"{LAYERS}batch_norm", f"{LAYERS}inplace_abn", f"{LAYERS}data_norm"})


class Kind(Enum):
    """How the samples of a batch come together in a loss."""

    MEAN = "mean"
    SUM = "sum"
    OTHER = "other"


def kind_of(plan: Plan, values: Values) -> Kind:
    """How samples come together in a loss, over all that it may be."""
    found = quantity(plan, values)
    degrees = {term.degree for term in found.terms if term.gradient} or found.degrees
    if found.kind is not Part.PART or found.pending or len(degrees) > 1:
        return Kind.OTHER
    return {0: Kind.MEAN, 1: Kind.SUM}.get(next(iter(degrees)), Kind.OTHER)


def is_reduced(plan: Plan, values: Values) -> bool:
    """Whether something is a mean or a sum over the batch."""
    return quantity(plan, values).kind is Part.PART


def is_variable(value: Value) -> bool:
    """Whether a value may be a variable of a program."""
    return any(
        name.startswith("paddle.fluid.layers.")
        for each in walk_back((value,))
        for name in called_names(each)
    )


def counts_tokens(values: Values) -> bool:
    """Whether the mean is over the elements of sequences of different lengths."""
    for value in walk_back(values):
        if not isinstance(value, Opaque) or not LABELLED.intersection(called_names(value)):
            continue
        label = value.arguments.get("label", 1)
        if label is not None and any(is_sequence(each) for each in label.values):
            return True
    return False


def is_sequence(value: Value) -> bool:
    """Whether a value is data of sequences."""
    if not isinstance(value, Opaque) or not DATA.intersection(called_names(value)):
        return False
    position = 4 if f"{LAYERS}data" in called_names(value) else 3
    level = value.arguments.get("lod_level", position)
    return level is not None and level.values not in ((), (Constant(0),), (Constant(None),))


def normalisers(plan: Plan) -> bool:
    """Whether the script has layers that keep statistics of batches."""
    return any(
        event.kind == "call"
        and not event.detached
        and any(getattr(callee, "name", "") in NORMALISING for callee in event.callee)
        for event in plan.facts.events
    )
