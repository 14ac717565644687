"""What is known of the shapes of variables, from how a script writes them."""

from __future__ import annotations

from fractions import Fraction

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values, only_constant
from transpile.plan.graph import called_names
from transpile.rules.fluid.losses._losses import CURVES, DATA, LAYERS, SCALING

#: Layers whose result has the shape of their first input.
ALIKE = (
    CURVES
    | SCALING
    | frozenset(
        f"{LAYERS}{name}"
        for name in (
            "dropout", "softmax", "batch_norm", "layer_norm", "l2_normalize", "elementwise_add",
            "elementwise_sub", "elementwise_mul", "elementwise_div",
        )
    )
)  # fmt: skip
#: Layers that take each row by itself, whatever they make of it.
BY_ROW = ALIKE | frozenset(
    f"{LAYERS}{name}" for name in ("fc", "conv2d", "pool2d", "flatten", "embedding", "one_hot")
)


def layer_of(value: Value) -> str:
    """The short name of the layer that makes a value; empty for anything else."""
    for name in called_names(value):
        if name.startswith(LAYERS) or name in DATA:
            return name.removeprefix(LAYERS)
    return ""


def input_of(value: Value) -> Values:
    """The first input of a layer."""
    if not isinstance(value, Opaque):
        return ()
    for keyword in ("x", "input"):
        given = value.arguments.get(keyword, 0)
        if given is not None:
            return given.values
    return ()


def items(value: Value, name: str, position: int) -> tuple[Values, ...]:
    """The elements of a list that a layer is given."""
    if not isinstance(value, Opaque):
        return ()
    given = value.arguments.get(name, position)
    if given is None or len(given.values) != 1:
        return ()
    only = given.values[0]
    return tuple(only.elements) if isinstance(only, Sequence) else (given.values,)


def numbers(value: Value, name: str, position: int) -> list[int | None]:
    """The numbers of a list that a layer is given; None for each that is not known."""
    found: list[int | None] = []
    for each in items(value, name, position):
        constant = only_constant(each)
        known = constant.value if constant is not None else None
        found.append(known if isinstance(known, int) and not isinstance(known, bool) else None)
    return found


def number(value: Value, name: str, position: int, default: int) -> int | None:
    """The number that a layer is given; None where it is not known."""
    if not isinstance(value, Opaque):
        return None
    given = value.arguments.get(name, position)
    if given is None or given.values == (Constant(None),):
        return default
    found = numbers(value, name, position)
    return found[0] if len(found) == 1 else None


def rank_of(values: Values, depth: int = 0) -> int | None:
    """How many dimensions a variable has; None where that is not known."""
    if len(values) != 1 or depth > 30:
        return None
    value = values[0]
    layer = layer_of(value)
    if layer == "reshape":
        return len(items(value, "shape", 1)) or None
    if layer == "transpose":
        return len(items(value, "perm", 1)) or None
    if layer == "fc":
        flat = number(value, "num_flatten_dims", 2, 1)
        return None if flat is None else flat + 1
    if f"{LAYERS}{layer}" in ALIKE:
        return rank_of(input_of(value), depth + 1)
    return None


def width_of(values: Values, depth: int = 0) -> int | None:
    """How many numbers a row of a variable has; None where that is not known."""
    if len(values) != 1 or depth > 30:
        return None
    value = values[0]
    layer = layer_of(value)
    if layer in ("data", "paddle.fluid.data"):
        shape = numbers(value, "shape", 1)
        return product(shape[1:] if shape and shape[0] in (-1, None) else shape)
    if layer == "fc":
        flat = number(value, "num_flatten_dims", 2, 1)
        return number(value, "size", 1, 0) if flat == 1 else None
    if layer == "reshape":
        return product(numbers(value, "shape", 1)[1:])
    if f"{LAYERS}{layer}" in ALIKE:
        return width_of(input_of(value), depth + 1)
    return None


def product(found: list[int | None]) -> int | None:
    """The product of numbers; None where one is not known."""
    result = 1
    for each in found:
        if each is None or each < 1:
            return None
        result *= each
    return result


def rows_of(values: Values, depth: int = 0) -> Fraction | None:
    """How many rows of a variable a sample has, less than one where rows hold several samples."""
    if len(values) != 1 or depth > 60:
        return None
    value = values[0]
    layer = layer_of(value)
    if layer in ("data", "paddle.fluid.data"):
        return Fraction(1)
    inner = input_of(value)
    if layer != "reshape":
        return rows_of(inner, depth + 1) if f"{LAYERS}{layer}" in BY_ROW else None
    before = rows_of(inner, depth + 1)
    shape = numbers(value, "shape", 1)
    if before is None or not shape or shape[0] != -1:
        return before if shape and shape[0] == 0 else None
    wide, wider = width_of(inner), product(shape[1:])
    if wide is not None and wider is not None:
        return before * wide / wider
    if len(shape) > 2 and is_width(items(value, "shape", 1)[-1]):
        groups = product(shape[1:-1])
        return None if groups is None else before / groups
    return None


def is_width(values: Values) -> bool:
    """Whether a number is read as the second one of a variable's shape."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "item"
        and value.index == (Constant(1),)
        and any(
            isinstance(base, Opaque) and base.kind == "attribute" and base.name == "shape"
            for base in value.operands[0]
        )
        for value in values
    )
