"""What of a loss can be seen where it is computed: that it is a mean, or a sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from transpile.audit.model import Audit
from transpile.facts.values import (
    Constant,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.query import query

if TYPE_CHECKING:
    from typing import TypeGuard

DIVISIONS = frozenset({"Divide", "DivideAssign"})
ADDITIONS = frozenset({"Add", "AddAssign"})
PRODUCTS = frozenset({"Multiply", "MultiplyAssign"})
FUNCTIONS = frozenset(
    f"torch.nn.functional.{word}"
    for word in (
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div",
    )
)  # fmt: skip
MODULES = frozenset(
    f"torch.nn.{word}"
    for word in (
        "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss",
        "BCEWithLogitsLoss", "KLDivLoss",
    )
)  # fmt: skip
#: Methods and functions that give back a loss as it is, or multiplied for half precision.
KEEPING = frozenset({"scale", "float", "double", "half", "to", "cuda", "clone", "contiguous"})
SCALING = frozenset({"apex.amp.scale_loss"})
#: What says how many samples there are.
SIZES = frozenset({"len", "size", "shape", "numel", "batch_size"})


def reduction_of(value: Value) -> str | None:
    """How a loss of the framework makes one number of its samples; None for anything else."""
    if not isinstance(value, Opaque):
        return None
    pending = [value, *(one for one in value.callee if isinstance(one, Opaque))]
    seen: set[int] = set()
    while pending:
        made = pending.pop(0)
        if id(made) in seen:
            continue
        seen.add(id(made))
        known = FUNCTIONS if made is value else MODULES
        if not known.isdisjoint(called_names(made)):
            told = made.arguments.get("reduction", 99)
            constant = only_constant(told.values) if told is not None else None
            if told is None:
                return "mean"
            return str(constant.value) if constant is not None else None
        if made is not value:
            # ``CrossEntropyLoss().cuda()`` is the same loss elsewhere.
            for name, receiver in method_calls(made):
                if name in KEEPING:
                    pending.extend(one for one in receiver if isinstance(one, Opaque))
    return None


def is_mean_loss(value: Value) -> bool:
    """Whether a value is a loss of the framework that is a mean, or a mean itself."""
    return reduction_of(value) == "mean" or is_over_all(value, "mean")


def is_over_all(value: Value, word: str) -> TypeGuard[Opaque]:
    """Whether a value is ``x.mean()`` or ``torch.mean(x)`` of all that is in a tensor."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    items = value.arguments.items
    if f"torch.{word}" in called_names(value):
        return len(items) == 1
    return not items and any(name == word for name, _ in method_calls(value))


@query
def set_of_forwards(audit: Audit) -> frozenset[int]:
    """What models compute, by its identity."""
    return frozenset(
        id(value)
        for model in audit.plan.models
        for forward in model.forwards
        for value in forward.result
    )


def is_summed(audit: Audit, values: Values) -> bool:
    """Whether a loss is, or has a term that is, a sum over the samples of a batch as it is written.

    What is divided is none, unless by a setting that is not the size of the batches.
    """
    return any(is_sum(value) for value in terms(audit, values))


def terms(audit: Audit, values: Values) -> Iterator[Value]:
    """The summands of a loss, without their factors."""
    sizes = sizes_of_batches(audit)
    seen: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if not isinstance(value, Opaque):
            continue
        if value.kind == "operation":
            if value.name in ADDITIONS or value.name == "Subtract":
                pending.extend(one for group in value.operands for one in group)
            elif value.name in PRODUCTS:
                if not any(counts(one) for group in value.operands for one in near(group)):
                    pending.extend(one for group in value.operands for one in group)
            elif value.name in DIVISIONS and is_setting(value.operands[1], sizes):
                pending.extend(value.operands[0])
        elif value.kind == "call":
            if not SCALING.isdisjoint(called_names(value)) and value.arguments.items:
                pending.extend(value.arguments.items[0].values)
            for name, receiver in method_calls(value):
                if name in KEEPING:
                    pending.extend(value.arguments.items[0].values if name == "scale" else receiver)
            if any(isinstance(one, Instance) for one in value.callee):
                pending.extend(value.inner)


def is_by_batch(audit: Audit, values: Values) -> bool:
    """Whether a loss is divided by the setting that says how large each process's batches are."""
    sizes = sizes_of_batches(audit)
    return any(
        isinstance(value, Opaque)
        and value.name in DIVISIONS
        and any(isinstance(one, Opaque) and one.name in sizes for one in value.operands[1])
        for value in terms(audit, values)
    )


def is_sum(value: Value) -> bool:
    """Whether a value adds up what belongs to the samples of a batch."""
    if reduction_of(value) == "sum":
        return True
    if not is_over_all(value, "sum"):
        return False
    behind = [one for name, receiver in method_calls(value) for one in receiver if name == "sum"]
    behind.extend(one for item in value.arguments.items for one in item.values)
    return bool(behind) and any(has_a_row_each(one) for one in behind)


def has_a_row_each(value: Value) -> bool:
    """Whether a value is one number for each sample: other axes than the first are gone."""
    if reduction_of(value) == "none":
        return True
    for name, _ in method_calls(value):
        if name in ("mean", "sum") and isinstance(value, Opaque):
            axes = value.arguments.get("dim", 0)
            return axes is not None and is_behind_first(axes.values)
    return False


def is_behind_first(values: Values) -> bool:
    """Whether axes are others than the first: 1, ``(1, 2)``, or ``range(1, n)``."""
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Constant):
        return isinstance(value.value, int) and value.value > 0
    if isinstance(value, Sequence):
        if value.elements and not value.rest:
            return all(is_behind_first(one) for one in value.elements)
        return any(starts_at_one(one) for one in walk_back((value,)))
    return isinstance(value, Opaque) and any(starts_at_one(one) for one in walk_back((value,)))


def starts_at_one(value: Value) -> bool:
    """Whether a value is ``range(1, n)``."""
    if not isinstance(value, Opaque) or "builtins.range" not in called_names(value):
        return False
    items = value.arguments.items
    return len(items) > 1 and items[0].values == (Constant(1),)


def near(values: Values) -> Iterator[Value]:
    """What values are computed of by operators alone."""
    return walk_back(values, lambda one: isinstance(one, Opaque) and one.kind == "operation")


def counts(value: Value) -> bool:
    """Whether a value says how much data there is."""
    if not isinstance(value, Opaque):
        return False
    return value.name in SIZES or any(getattr(one, "name", "") in SIZES for one in value.callee)


def is_setting(values: Values, sizes: frozenset[str]) -> bool:
    """Whether values are numbers that are written or set, and not the size of the batches."""
    return bool(values) and all(
        isinstance(value, Constant)
        or (
            isinstance(value, Opaque)
            and value.kind == "attribute"
            and value.name not in sizes
            and not any(counts(one) for one in near((value,)))
        )
        for value in values
    )


@query
def sizes_of_batches(audit: Audit) -> frozenset[str]:
    """The names of the settings that say how large batches are."""
    found: set[str] = set()
    for loader in audit.plan.loaders:
        argument = loader.argument("batch_size")
        for value in walk_back(argument.values) if argument is not None else ():
            if isinstance(value, Opaque) and value.kind == "attribute":
                found.add(value.name)
    return frozenset(found)
