"""What a loss is: a mean over samples, a sum over them, or something that is not recognised."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan

LAYERS = "paddle.fluid.layers."
ADDING = frozenset({f"{LAYERS}elementwise_add", f"{LAYERS}sums", f"{LAYERS}sum"})
SCALING = frozenset({f"{LAYERS}scale", f"{LAYERS}cast", f"{LAYERS}assign"})
MEANS = frozenset({f"{LAYERS}mean", f"{LAYERS}reduce_mean"})
#: Layers whose result for one sample depends on the other samples of its batch.
COUPLING = frozenset(
    {f"{LAYERS}npair_loss", f"{LAYERS}center_loss", f"{LAYERS}sampled_softmax_with_cross_entropy"}
)
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
    NUMBER = "number"
    OTHER = "other"


def kind_of(values: Values) -> Kind:
    """How samples come together in a loss, over all that it may be."""
    kinds = {kind_of_value(value, 0) for value in values}
    return kinds.pop() if len(kinds) == 1 else Kind.OTHER


def kind_of_value(value: Value, depth: int) -> Kind:
    """How samples come together in one value."""
    if isinstance(value, Constant):
        return Kind.NUMBER
    if not isinstance(value, Opaque) or depth > 30:
        return Kind.OTHER
    if value.kind == "operation":
        return kind_of_operation(value, depth)
    if value.kind == "item" and value.operands and value.operands[0]:
        return Kind.OTHER
    for name in called_names(value):
        first = value.arguments.get("x", 0) or value.arguments.get("input", 0)
        over = value.arguments.get("dim", 1)
        whole = over is None or over.values == (Constant(None),)
        if name in MEANS:
            return Kind.MEAN if whole else Kind.OTHER
        if name == f"{LAYERS}reduce_sum":
            return Kind.SUM if whole else Kind.OTHER
        if name in SCALING and first is not None:
            return together([kind_of_value(each, depth + 1) for each in first.values], depth)
        if name in ADDING:
            parts = [
                kind_of_value(each, depth + 1)
                for argument in value.arguments.items[:2]
                for each in flat(argument.values)
            ]
            return together(parts, depth)
    return Kind.OTHER


def flat(values: Values) -> Iterator[Value]:
    """Values, those of lists one by one."""
    for value in values:
        if isinstance(value, Sequence):
            yield from value.every()
        else:
            yield value


def kind_of_operation(value: Opaque, depth: int) -> Kind:
    """How samples come together in the result of an operator."""
    parts = [kind_of_value(each, depth + 1) for operands in value.operands for each in operands]
    if value.name in ("Add", "Subtract"):
        return together(parts, depth)
    if value.name in ("Multiply", "Divide") and len(value.operands) == 2:
        left, right = value.operands
        for one, other in ((left, right), (right, left)):
            if value.name == "Divide" and one is right:
                break
            if all(not is_variable(each) for each in other):
                return together([kind_of_value(each, depth + 1) for each in one], depth)
    return Kind.OTHER


def is_variable(value: Value) -> bool:
    """Whether a value may be a variable of a program."""
    return any(
        name.startswith("paddle.fluid.layers.")
        for each in walk_back((value,))
        for name in called_names(each)
    )


def together(kinds: list[Kind], depth: int) -> Kind:
    """How samples come together in a sum."""
    found = set(kinds) - {Kind.NUMBER}
    if not found:
        return Kind.NUMBER if kinds else Kind.OTHER
    return found.pop() if len(found) == 1 else Kind.OTHER


def couples(values: Values) -> str:
    """What makes the loss of a sample depend on the others; empty where nothing is seen to."""
    for value in walk_back(values):
        for name in called_names(value):
            if name in COUPLING:
                return name.rpartition(".")[2]
            if name == f"{LAYERS}matmul" and isinstance(value, Opaque) and is_all_pairs(value):
                return "matmul of two batches"
    return ""


def is_all_pairs(value: Opaque) -> bool:
    """Whether a product is of all samples of one batch with all of another."""
    transposed = value.arguments.get("transpose_y", 3)
    if transposed is None or transposed.values != (Constant(True),):
        return False
    sides = [value.arguments.get("x", 0), value.arguments.get("y", 1)]
    return all(
        side is not None
        and any(DATA.intersection(called_names(each)) for each in walk_back(side.values))
        for side in sides
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
