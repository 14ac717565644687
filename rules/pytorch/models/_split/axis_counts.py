"""Of how many axes a tensor is that a script makes itself, as far as its text tells."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import (
    Argument,
    Arguments,
    Constant,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan

#: Functions that are given a size, one number for each axis or all of them in a tuple.
OF_SIZES = frozenset({"randn", "rand", "zeros", "ones", "empty"})
#: Functions whose result has as many axes as this.
OF_RANK = {
    "eye": 2, "arange": 1, "linspace": 1, "randperm": 1, "logspace": 1, "vander": 2,
}  # fmt: skip
#: Functions and methods that leave the axes as they are.
SAME = frozenset(
    {
        "to", "float", "double", "half", "long", "int", "bool", "cuda", "cpu", "clone", "detach",
        "requires_grad_", "contiguous", "t", "abs", "sqrt", "rsqrt", "exp", "log", "log1p", "sin",
        "cos", "tanh", "sigmoid", "relu", "pow", "clamp", "clamp_min", "round", "sign", "neg",
        "reciprocal", "transpose", "permute", "flip", "roll", "softmax", "cumsum", "normalize",
        "rand_like", "randn_like", "zeros_like", "ones_like", "full_like", "empty_like", "tril",
        "triu", "fill_", "zero_", "normal_", "uniform_", "fill_diagonal_", "add_", "mul_", "div_",
        "sub_", "as_tensor", "tensor", "bernoulli", "isnan", "inverse", "pinverse",
    }
)  # fmt: skip
#: Functions and operators whose result has the axes of the largest operand.
LARGEST = frozenset(
    {
        "Add", "Subtract", "Multiply", "Divide", "Modulo", "Power", "FloorDivide", "BitOr",
        "BitAnd", "BitXor", "compare", "Equal", "NotEqual", "LessThan", "GreaterThan",
        "LessThanEqual", "GreaterThanEqual", "Minus", "Plus", "BitInvert", "where", "maximum",
        "minimum", "add", "sub", "mul", "div",
    }
)  # fmt: skip
#: Functions and methods that take away the axis that is named, or all of them.
REDUCED = frozenset({"sum", "mean", "prod", "std", "var", "amax", "amin", "logsumexp"})
#: Functions and methods that add an axis.
ONE_MORE = frozenset({"unsqueeze", "one_hot"})
#: Methods that give a tensor other axes in place.
RESHAPING = frozenset({"unsqueeze_", "squeeze_", "resize_", "resize_as_", "set_", "swapaxes_"})
PACKAGES = ("torch.", "torch.nn.functional.", "torch.linalg.")
DEEPEST = 40

#: The ranks of values, by their identity and how deep they are asked for: what a loop computes
#: anew from itself comes to the same values on ways whose number doubles with each step back.
Told = dict[tuple[int, int], int | None]


def known_ranks(plan: Plan, arguments: Arguments) -> dict[str, int]:
    """Of how many axes those inputs are that the script makes itself.

    That tells whether rows meet in them: a matrix with an entry for each two rows is no batch of
    matrices.
    """
    found: dict[str, int] = {}
    if plan.way != "calls" or RESHAPING & plan.facts.calls_by_word.keys():
        return found
    named = [(str(place), one.values) for place, one in enumerate(arguments.positional())]
    named += [(one.keyword, one.values) for one in arguments.items if one.keyword is not None]
    told: Told = {}
    for name, values in named:
        rank = rank_at(values, 0, told)
        if rank:
            found[name] = rank
    return found


def rank_of(values: Values) -> int | None:
    """The number of axes of a tensor; 0 for a number, None where it is not told."""
    return rank_at(values, 0, {})


def rank_at(values: Values, depth: int, told: Told) -> int | None:
    """The same so many steps back."""
    if depth > DEEPEST:
        return None
    found = {rank_of_one(value, depth + 1, told) for value in values}
    return found.pop() if len(found) == 1 else None


def rank_of_one(value: Value, depth: int, told: Told) -> int | None:
    """The same for one alternative."""
    key = (id(value), depth)
    if key not in told:
        told[key] = rank_of_made(value, depth, told)
    return told[key]


def rank_of_made(value: Value, depth: int, told: Told) -> int | None:
    """The same, worked out from what the value is made of."""
    if isinstance(value, Constant):
        return 0 if isinstance(value.value, (int, float)) else None
    if not isinstance(value, Opaque):
        return None
    if value.kind == "item" and isinstance(value.node, cst.Subscript):
        base = rank_at(value.operands[0], depth, told)
        more = added_by(value.node)
        return base + more if base and more is not None else None
    if value.kind == "operation":
        return of_operation(value.name, value.operands, depth, told)
    if value.kind != "call":
        return None
    given = tuple(item.values for item in value.arguments.positional())
    keywords = frozenset(item.keyword for item in value.arguments.items if item.keyword)
    received = method_calls(value)
    if len(received) == 1 and len(value.callee) == 1:
        word, receiver = received[0]
        return of_operation(word, (receiver, *given), depth, told, keywords)
    for name in called_names(value):
        package, _, word = name.rpartition(".")
        if f"{package}." not in PACKAGES:
            return None
        if word in OF_SIZES:
            return of_sizes(value.arguments.positional())
        if word in ("full", "randint"):
            size = value.arguments.get("size", 0 if word == "full" else 2)
            return of_sizes((size,) if size is not None else ())
        if word in ("tensor", "as_tensor") and given and of_list(given[0]):
            return of_list(given[0])
        return OF_RANK.get(word) or of_operation(word, given, depth, told, keywords)
    return None


def added_by(node: cst.Subscript) -> int | None:
    """How many axes an index adds, or takes away if it is less than none; None for others."""
    added = 0
    for element in node.slice:
        if not isinstance(element.slice, cst.Index):
            continue
        index = element.slice.value
        if isinstance(index, cst.Name) and index.value == "None":
            added += 1
        elif isinstance(index, cst.Integer):
            added -= 1
        elif not isinstance(index, cst.Ellipsis):
            return None
    return added


def of_list(values: Values) -> int | None:
    """The rank of a list of numbers, or of lists of them."""
    if len(values) == 1 and isinstance(values[0], Sequence):
        inner = {of_list(one) for one in values[0].elements} if not values[0].rest else {None}
        only = inner.pop() if len(inner) == 1 else None
        return only + 1 if only is not None else None
    numbers = (isinstance(one, Constant) and isinstance(one.value, (int, float)) for one in values)
    return 0 if values and all(numbers) else None


def of_sizes(given: tuple[Argument, ...]) -> int | None:
    """How many axes are named, each by a number of its own, or all in one tuple."""
    if len(given) > 1:
        return len(given)
    for value in given[0].values if given and len(given[0].values) == 1 else ():
        if isinstance(value, Sequence) and not value.rest:
            return len(value.elements)
        if isinstance(value, Constant) and isinstance(value.value, int):
            return 1
    return None


def of_operation(
    word: str,
    operands: tuple[Values, ...],
    depth: int,
    told: Told,
    keywords: frozenset[str] = frozenset(),
) -> int | None:
    """The rank of what an operator, function or method gives."""
    if not operands:
        return None
    if word in LARGEST:
        ranks = [rank_at(one, depth, told) for one in operands]
        known = [rank for rank in ranks if rank is not None]
        return max(known) if len(known) == len(ranks) else None
    first = rank_at(operands[0], depth, told)
    if first is None:
        return None
    if word in SAME:
        return first
    if word in ONE_MORE:
        return first + 1
    if word in REDUCED:
        return after_reduction(first, operands[1:], keywords)
    if word in ("diag", "diagonal"):
        return {1: 2, 2: 1}.get(first) if word == "diag" else first - 1
    if word in ("MatrixMultiply", "matmul", "mm"):
        return 2 if first == 2 and rank_at(operands[1], depth, told) == 2 else None
    return None


def after_reduction(rank: int, dims: tuple[Values, ...], keywords: frozenset[str]) -> int | None:
    """How many axes are left by a sum over one of them, or over all."""
    if keywords or len(dims) > 1:
        return None
    if not dims:
        return 0
    number = only_constant(dims[0])
    return rank - 1 if number is not None and isinstance(number.value, int) else None
