"""What a loss is: a mean over samples, a sum over them, or something that is not recognised."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan

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
    """How the samples of a batch come together in a value."""

    MEAN = "mean"
    SUM = "sum"
    SAMPLES = "not at all"
    RESHAPED = "not at all, and in another dimension than the first"
    WEIGHTS = "no samples, but parameters"
    NUMBER = "number"
    OTHER = "other"


#: What has not the samples of a batch as its first dimension any more.
REDUCED = frozenset({Kind.MEAN, Kind.SUM})


def kind_of(values: Values) -> Kind:
    """How samples come together in a loss, over all that it may be."""
    seen: dict[int, Kind] = {}
    kinds = {kind_of_value(value, seen, 0) for value in values}
    return kinds.pop() if len(kinds) == 1 else Kind.OTHER


def kind_of_value(value: Value, seen: dict[int, Kind], depth: int) -> Kind:
    """How samples come together in one value.

    Args:
        value: the value.
        seen: what has been found, by value: a loss may be made of one value in many ways.
        depth: how many operations lead here.
    """
    if isinstance(value, Constant):
        return Kind.NUMBER
    if not isinstance(value, Opaque) or depth > 30:
        return Kind.OTHER
    if id(value) not in seen:
        seen[id(value)] = kind_of_call(value, seen, depth)
    return seen[id(value)]


def kind_of_call(value: Opaque, seen: dict[int, Kind], depth: int) -> Kind:
    """How samples come together in the result of a call or an operator."""
    if value.kind == "operation":
        return kind_of_operation(value, seen, depth)
    for name in called_names(value):
        if name == f"{LAYERS}create_parameter":
            return Kind.WEIGHTS
        first = value.arguments.get("x", 0) or value.arguments.get("input", 0)
        if name in ADDING:
            parts = [
                kind_of_value(each, seen, depth + 1)
                for argument in value.arguments.items[:2]
                for each in flat(argument.values)
            ]
            return added(parts)
        if name in MULTIPLYING:
            second = value.arguments.get("y", 1)
            parts = [
                alike([kind_of_value(each, seen, depth + 1) for each in argument.values])
                for argument in (first, second)
                if argument is not None
            ]
            divides = name.endswith("div")
            return multiplied(parts[0], parts[1], divides) if len(parts) == 2 else Kind.OTHER
        if first is None or not name.startswith(LAYERS):
            continue
        if name in MEANS or name == f"{LAYERS}reduce_sum":
            inner = alike([kind_of_value(each, seen, depth + 1) for each in first.values])
            return reduced(value, name in MEANS, inner)
        if name in SCALING or name in SHAPING:
            inner = alike([kind_of_value(each, seen, depth + 1) for each in first.values])
            moves = name in SHAPING and name not in KEEPING
            return Kind.RESHAPED if moves and inner is Kind.SAMPLES else inner
        if name in CURVES:
            inner = alike([kind_of_value(each, seen, depth + 1) for each in first.values])
            return Kind.OTHER if inner in REDUCED else inner
    return Kind.SAMPLES if is_variable(value) else Kind.OTHER


def reduced(value: Opaque, mean: bool, inner: Kind) -> Kind:
    """How samples come together in a mean or a sum over something."""
    if inner in REDUCED or inner in (Kind.WEIGHTS, Kind.NUMBER):
        return inner
    over = value.arguments.get("dim", 1)
    names = called_names(value)
    whole = f"{LAYERS}mean" in names or over is None or over.values == (Constant(None),)
    if not whole:
        dimensions = [
            each.value if isinstance(each, Constant) else None
            for each in flat(over.values if over is not None else ())
        ]
        if inner is not Kind.SAMPLES or not all(isinstance(each, int) for each in dimensions):
            return Kind.OTHER
        if 0 not in dimensions:
            return Kind.SAMPLES
    elif inner is Kind.OTHER and not mean:
        return Kind.OTHER
    return Kind.MEAN if mean else Kind.SUM


def flat(values: Values) -> Iterator[Value]:
    """Values, those of lists one by one."""
    for value in values:
        if isinstance(value, Sequence):
            yield from value.every()
        else:
            yield value


def kind_of_operation(value: Opaque, seen: dict[int, Kind], depth: int) -> Kind:
    """How samples come together in the result of an operator."""
    parts = [
        alike(
            [
                kind_of_value(each, seen, depth + 1) if is_variable(each) else Kind.NUMBER
                for each in operands
            ]
        )
        for operands in value.operands
    ]
    if value.name in ("Add", "Subtract"):
        return added(parts)
    if value.name in ("Multiply", "Divide") and len(parts) == 2:
        return multiplied(parts[0], parts[1], value.name == "Divide")
    return Kind.OTHER


def is_variable(value: Value) -> bool:
    """Whether a value may be a variable of a program."""
    return any(
        name.startswith("paddle.fluid.layers.")
        for each in walk_back((value,))
        for name in called_names(each)
    )


def alike(kinds: list[Kind]) -> Kind:
    """What several alternatives have in common."""
    return kinds[0] if len(set(kinds)) == 1 else Kind.OTHER


def added(kinds: list[Kind]) -> Kind:
    """How samples come together in a sum of several values."""
    found = set(kinds) - {Kind.NUMBER}
    if Kind.MEAN in found or Kind.SAMPLES in found:
        # Every trainer has the same weights, and the average of equal gradients is that gradient.
        found.discard(Kind.WEIGHTS)
    if not found:
        return Kind.NUMBER if kinds else Kind.OTHER
    return found.pop() if len(found) == 1 else Kind.OTHER


def multiplied(one: Kind, other: Kind, divides: bool) -> Kind:
    """How samples come together in a product, or in a quotient."""
    if other is Kind.NUMBER:
        return one
    if one is Kind.NUMBER and not divides:
        return other
    if other is Kind.WEIGHTS:
        return one
    if one is Kind.WEIGHTS and not divides:
        return other
    if one is other and one in (Kind.SAMPLES, Kind.RESHAPED):
        return one
    return Kind.OTHER


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
