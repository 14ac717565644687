"""Losses in which what a sample contributes depends on the other samples of its batch."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque, Value, Values
from transpile.plan.graph import called_names, parents, walk_back
from transpile.plan.model import Plan
from transpile.rules.fluid.data._shapes import (
    input_of,
    layer_of,
    number,
    numbers,
    rank_of,
    rows_of,
)
from transpile.rules.fluid.losses._losses import (
    ADDING,
    CURVES,
    DATA,
    LAYERS,
    MULTIPLYING,
    SCALING,
    SHAPING,
    is_reduced,
)

#: Layers whose result for one sample depends on the other samples of its batch.
COUPLING = frozenset({"npair_loss", "center_loss", "sampled_softmax_with_cross_entropy"})
REDUCING = frozenset(
    {"mean", "reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"}
)
#: Layers that work along one axis: the name and place of the argument, and what it is by default.
ALONG = {
    "softmax": ("axis", 3, -1),
    "cumsum": ("axis", 1, -1),
    "l2_normalize": ("axis", 1, -1),
    "argsort": ("axis", 1, -1),
    "topk": ("", 9, -1),
    "reverse": ("axis", 1, -1),
    "split": ("dim", 2, -1),
}
#: Of those, the ones that are told several axes in a list.
SLICES = {"slice": ("axes", 1), "strided_slice": ("axes", 1), "reverse": ("axis", 1)}
#: Layers that choose rows of their first input by their numbers.
CHOOSING = {"gather": ("index", 1), "gather_nd": ("index", 1), "scatter": ("index", 1)}
#: What leaves numbers of rows numbers of rows.
PASSING = frozenset({"cast", "reshape", "squeeze", "unsqueeze", "flatten", "assign"})
#: After these the first dimension may be another than that of the samples.
MOVING = frozenset({"stack", "unstack", "expand", "sequence_pad", "concat"})


def couples(plan: Plan, values: Values) -> str:
    """What makes the loss of a sample depend on the others; empty where nothing is seen to."""
    for value in walk_back(values, enter=is_entered):
        found = coupling_of(value)
        if found:
            return found
    return reduction_inside(plan, values)


def is_entered(value: Value) -> bool:
    """Whether to look at what a value is made of: the length of a mask changes no sample."""
    return bool(layer_of(value) != "sequence_mask")


def coupling_of(value: Value) -> str:
    """How one layer couples the rows of a batch; empty where it does not."""
    layer: str = layer_of(value)
    if not isinstance(value, Opaque) or not layer:
        return ""
    if layer in COUPLING:
        return layer
    if layer in ("matmul", "mul") and is_all_pairs(value, layer):
        return f"{layer} of two batches"
    if layer.startswith("elementwise_") and is_broadcast(value):
        return f"{layer} of every two samples"
    if layer == "reshape":
        rows = rows_of((value,))
        if rows is not None and rows < 1 and rows_of(input_of(value)) == 1:
            return "reshape puts several samples into one row"
        return ""
    if is_along_batch(value, layer) and keeps_batch_first(input_of(value)):
        return f"{layer} along the batch"
    return ""


def is_along_batch(value: Opaque, layer: str) -> bool:
    """Whether a layer works along the first axis of its input."""
    if layer in SLICES and 0 in numbers(value, *SLICES[layer]):
        return True
    if layer not in ALONG:
        return False
    axis = number(value, *ALONG[layer])
    return bool(axis == 0 or (axis == -1 and rank_of(input_of(value)) == 1))


def is_all_pairs(value: Opaque, layer: str) -> bool:
    """Whether a product is of all samples of one batch with all of another."""
    sides = [value.arguments.get("x", 0), value.arguments.get("y", 1)]
    if not all(side is not None and is_batch(side.values) for side in sides):
        return False
    first, second = (side.values for side in sides if side is not None)
    if any((rank_of((each,)) or 0) > 2 for side in (first, second) for each in side):
        return False
    turned = value.arguments.get("transpose_y", 3)
    if layer == "matmul" and turned is not None and turned.values == (Constant(True),):
        return True
    return any(
        layer_of(each) == "transpose" and numbers(each, "perm", 1) == [1, 0] for each in second
    )


def is_broadcast(value: Opaque) -> bool:
    """Whether one side has the samples in its first dimension, and the other in its second."""
    axes = set()
    for name, position in (("x", 0), ("y", 1)):
        side = value.arguments.get(name, position)
        for each in side.values if side is not None else ():
            while layer_of(each) == "expand" and len(input_of(each)) == 1:
                each = input_of(each)[0]
            if layer_of(each) == "unsqueeze" and is_batch(input_of(each)):
                axes.add(tuple(numbers(each, "axes", 1)))
    return axes == {(0,), (1,)}


def is_batch(values: Values) -> bool:
    """Whether something is computed from what is fed."""
    fed = {*DATA, f"{LAYERS}read_file"}
    return any(fed.intersection(called_names(each)) for each in walk_back(values))


def keeps_batch_first(values: Values) -> bool:
    """Whether the first dimension of something is that of the samples, as far as is seen."""
    for each in walk_back(values):
        layer = layer_of(each)
        if layer in MOVING or (layer == "unsqueeze" and 0 in numbers(each, "axes", 1)):
            return False
        if layer == "transpose" and numbers(each, "perm", 1)[:1] != [0]:
            return False
    return is_batch(values)


def reduction_inside(plan: Plan, values: Values) -> str:
    """A reduction over the batch from which the samples' parts of a loss are computed."""
    outer = ADDING | MULTIPLYING | SCALING | SHAPING | CURVES
    stack: list[tuple[Value, bool]] = [(value, False) for value in values]
    seen: set[tuple[int, bool]] = set()
    while stack:
        value, inside = stack.pop()
        if (id(value), inside) in seen or not is_entered(value):
            continue
        seen.add((id(value), inside))
        layer = layer_of(value)
        reduces = layer in REDUCING and is_over_batch(value, layer)
        if reduces and inside and keeps_batch_first(input_of(value)):
            return f"{layer} over the batch, of which the loss is computed"
        if reduces:
            # The mean of what is a mean already changes nothing.
            below = inside or not is_reduced(plan, input_of(value))
        else:
            below = inside or (bool(layer) and f"{LAYERS}{layer}" not in outer)
        for group in parents(value):
            stack.extend((each, below) for each in group)
    return ""


def is_over_batch(value: Value, layer: str) -> bool:
    """Whether a reduction is over the first dimension."""
    assert isinstance(value, Opaque)
    given = value.arguments.get("dim", 1)
    if layer == "mean" or given is None or given.values == (Constant(None),):
        return True
    return 0 in numbers(value, "dim", 1)


def chosen_rows(values: Values) -> Opaque | None:
    """A layer that chooses rows of a batch by numbers that are fed; None where there is none."""
    for value in walk_back(values):
        layer = layer_of(value)
        if not isinstance(value, Opaque) or layer not in CHOOSING or not is_batch(input_of(value)):
            continue
        chosen = value.arguments.get(*CHOOSING[layer])
        fed = {*DATA, f"{LAYERS}read_file"}
        behind = walk_back(chosen.values if chosen is not None else (), enter=is_passed)
        if any(fed.intersection(called_names(each)) for each in behind):
            return value
    return None


def is_passed(value: Value) -> bool:
    """Whether a value holds the numbers that it is made of."""
    layer = layer_of(value)
    return not layer or layer in PASSING
