"""How many axes tensors have, told against each other, and where samples do not meet by that.

Shapes are matched from the last axis on. Where one of two tensors lacks axes that the other has,
its samples stand beside another axis than the samples of that: if that axis has the size 1, each
sample meets every other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from transpile.facts.values import (
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, origin

from ..domain import Kind, Quantity
from ..operations import (
    ADDITIONS,
    ALONG,
    ELEMENTWISE,
    GUARDS,
    MEANS,
    NEGATIONS,
    OVER_ALL,
    PRODUCTS,
    QUOTIENTS,
    REORDERS,
    SAME,
    SUMS,
    words,
)
from .dimensions import keeps_dimensions
from .shapes import Given, integer

if TYPE_CHECKING:
    from ..analysis import Supposing

CROSSED = (
    "it has one axis fewer than what it is combined with, so that each sample meets all others"
)
#: Operators of two tensors that go element by element.
OPERATORS = frozenset(
    {
        "Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Power", "Modulo", "Less",
        "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Equal", "NotEqual",
        "BitAnd", "BitOr", "BitXor",
    }
)  # fmt: skip
#: Give a tensor of other axes, though they count as elementwise or as giving the same.
OTHERWISE = words("""
    one_hot embedding index_select take_along_dim gather select bilinear stft istft fold unfold
    diag_embed make_grid checkpoint sample rsample log_prob entropy cdf icdf grid_sample
    affine_grid resize scatter scatter_add scatter_reduce index_add index_copy index_put pad_either
    multi_head_attention_forward tolist expand expand_as view_as reshape_as squeeze_copy repeat
    repeat_interleave tile atleast_1d atleast_2d tensor array asarray to_dense coalesce complex
    polar elementwise crop sort argsort topk kthvalue cosine_similarity pairwise_distance cross
    Tensor FloatTensor LongTensor DoubleTensor IntTensor HalfTensor BoolTensor ByteTensor
    """)
KEEPING = (ELEMENTWISE | SAME | GUARDS | NEGATIONS | ALONG | REORDERS) - OTHERWISE
COMBINING = ADDITIONS | PRODUCTS | QUOTIENTS
#: Give two tensors where they are told a dimension.
PAIRS_OF = words("max min median nanmedian mode std_mean var_mean aminmax")
REDUCING = SUMS | MEANS | (OVER_ALL - words("unique histc bincount percentile"))
TURNING = words("t T mT H adjoint transpose swapaxes swapdims permute movedim moveaxis")
#: Make tensors of the sizes that they are given, and of nothing else.
SIZED = words("randn rand zeros ones empty")
#: Layers whose outputs have as many axes as their inputs.
LAYERS = frozenset(
    {
        "Linear", "Identity", "Dropout", "ReLU", "ReLU6", "LeakyReLU", "ELU", "GELU", "SiLU",
        "Tanh", "Sigmoid", "Softplus", "Softmax", "LogSoftmax", "LayerNorm", "BatchNorm1d",
        "BatchNorm1D",
    }
)  # fmt: skip
#: Data sets whose samples are the rows of the tensors that they are given.
COLUMNS = (".TensorDataset",)
#: Losses that compare two tensors element by element, whatever their shapes.
COMPARING = words("mse_loss l1_loss smooth_l1_loss huber_loss square_error_cost")
#: How far values are followed.
DEPTH = 60


class Axes(NamedTuple):
    """As many axes as a value has, and so many more; those of numbers have the origin 0."""

    origin: int
    more: int


NUMBER = Axes(0, 0)


def crossed(analysis: Supposing, value: Opaque) -> bool:
    """Whether an operation pairs the samples of one tensor with those of another."""
    several = [
        (values, found)
        for values in operands(analysis, value)
        if (found := analysis.look(values)).kind is Kind.SAMPLE and found.dim is not None
    ]
    if len(several) < 2:
        return False
    reader = Reader(analysis)
    places = [reader.of(values, DEPTH) for values, _ in several]
    first, others = (several[0][1], places[0]), zip(several[1:], places[1:], strict=True)
    return any(meets_otherwise(first, (found, axes)) for (_, found), axes in others)


def meets_otherwise(first: tuple[Quantity, Axes], second: tuple[Quantity, Axes]) -> bool:
    """Whether the samples of two tensors stand at different places from the last axis on."""
    (one, axes), (other, others) = first, second
    assert one.dim is not None and other.dim is not None
    return axes.origin == others.origin and axes.more - one.dim != others.more - other.dim


def operands(analysis: Supposing, value: Opaque) -> list[Values]:
    """What an operation combines element by element; empty for other operations."""
    if value.kind == "operation":
        return list(value.operands) if value.name in OPERATORS else []
    if value.kind != "call":
        return []
    found: list[Values] = []
    for word, tensor, given in applied(analysis, value):
        # Where an axis is named, that is where the second tensor begins.
        if word in KEEPING | COMBINING | COMPARING and not given.arguments.get("axis"):
            found = [tensor, *given.positional()]
    vocabulary = analysis.vocabulary
    made = [name for callee in value.callee for name in called_names(origin(callee))]
    signatures = [
        *(vocabulary.losses.get(name) for name in called_names(value)),
        *(vocabulary.loss_classes.get(name) for name in made),
    ]
    signature = next((loss for loss in signatures if loss is not None), None)
    if signature is not None:
        found = [item.values for item in value.arguments.items[:2]]
        found = found if signature.function in COMPARING else []
    return found


def applied(analysis: Supposing, value: Opaque) -> Iterator[tuple[str, Values, Given]]:
    """The words of functions and methods that a call may be, their tensors and arguments."""
    vocabulary = analysis.vocabulary
    for name in called_names(value):
        if name.startswith(vocabulary.packages) and name not in vocabulary.losses:
            word = name.rpartition(".")[2]
            first = value.arguments.get("input", 0)
            yield vocabulary.operation(word), first.values if first is not None else (), (
                analysis.given_to(value, 1, word)
            )
    for word, receivers in method_calls(value):
        yield vocabulary.operation(word), receivers, analysis.given_to(value, 0, word)


class Reader:
    """Tells the axes of values against those of what they are made of."""

    def __init__(self, analysis: Supposing) -> None:
        self.analysis = analysis
        self.known: dict[int, Axes] = {}

    def of(self, values: Values, depth: int) -> Axes:
        """The axes of one of several values; those of none of them where they differ."""
        found = {self.of_one(value, depth) for value in values}
        return found.pop() if len(found) == 1 else Axes(id(values), 0)

    def of_one(self, value: Value, depth: int) -> Axes:
        """The axes of a value."""
        if isinstance(value, Constant):
            return NUMBER
        key = id(value)
        if key not in self.known:
            # What is made of itself, in a loop, is told by itself.
            self.known[key] = Axes(key, 0)
            if isinstance(value, Opaque) and depth:
                self.known[key] = self.made(value, depth - 1) or Axes(key, 0)
        return self.known[key]

    def made(self, value: Opaque, depth: int) -> Axes | None:
        """The axes of what is made of others; None where nothing tells them."""
        if value.kind == "operation":
            if value.name in ("Minus", "Plus"):
                return self.of(value.operands[0], depth)
            if value.name in OPERATORS:
                return self.combined(list(value.operands), depth)
            return NUMBER if value.name in ("len", "index") else None
        if value.kind == "item" and isinstance(value.node, cst.Subscript):
            return self.picked(value, value.node, depth)
        if value.kind == "item":
            return self.column(value, depth)
        if value.kind == "attribute" and value.name in ("T", "mT", "H", "data", "grad", "real"):
            return self.of(value.operands[0], depth)
        if value.kind != "call":
            return None
        if value.inner and all(isinstance(one, (Function, Instance)) for one in value.callee):
            return self.of(value.inner, depth)
        if value.callee and all(self.keeps_axes(origin(one)) for one in value.callee):
            first = value.arguments.positional()[:1]
            return self.of(first[0].values, depth) if first else None
        if any(isinstance(one, External) and one.name == "builtins.float" for one in value.callee):
            return NUMBER
        found = {self.called(*each, depth) for each in applied(self.analysis, value)}
        return found.pop() if len(found) == 1 else None

    def column(self, value: Opaque, depth: int) -> Axes | None:
        """The axes of a part of a batch, those of the tensor of its data set."""
        index = value.index[0] if len(value.index) == 1 else None
        source = self.analysis.loader_of(value.operands[0])
        if not isinstance(index, Constant) or not isinstance(index.value, int) or source is None:
            return None
        made = source.argument("dataset")
        columns = made.values if made is not None and len(made.values) == 1 else ()
        tensors = columns[0] if columns else None
        if not isinstance(tensors, Opaque) or source.collating is not None:
            return None
        if not any(name.endswith(COLUMNS) for name in called_names(tensors)):
            return None
        given = tensors.arguments.positional()
        if len(given) == 1 and len(given[0].values) == 1:
            listed = given[0].values[0]
            if isinstance(listed, Sequence) and index.value < len(listed.elements):
                return self.of(listed.elements[index.value], depth)
        return self.of(given[index.value].values, depth) if index.value < len(given) else None

    def keeps_axes(self, made: Value, around: frozenset[int] = frozenset()) -> bool:
        """Whether a layer gives a tensor of as many axes as it is given.

        Args:
            made: the layer.
            around: the identities of the containers that it is in, itself where it goes round.
        """
        if id(made) in around:
            return True
        names = called_names(made)
        words_of = {name.rpartition(".")[2] for name in names}
        known = any(name.startswith(self.analysis.vocabulary.layers.packages) for name in names)
        if not known or not isinstance(made, Opaque):
            return False
        if words_of & self.analysis.vocabulary.layers.containers:
            given = made.arguments.positional()
            return bool(given) and all(
                self.keeps_axes(one, around | {id(made)}) for item in given for one in item.values
            )
        return words_of <= LAYERS

    def combined(self, several: list[Values], depth: int) -> Axes | None:
        """The axes of what goes element by element over several tensors.

        Samples that are combined with other samples are taken to have as many axes as they.
        """
        found = [(values, self.of(values, depth)) for values in several]
        found = [(values, axes) for values, axes in found if axes != NUMBER]
        if not found:
            return NUMBER
        if len({axes.origin for _, axes in found}) > 1:
            found = [
                (values, axes)
                for values, axes in found
                if self.analysis.look(values).kind is Kind.SAMPLE
            ]
        alike = [axes for _, axes in found if axes.origin == found[0][1].origin]
        return max(alike, key=lambda axes: axes.more) if alike else None

    def picked(self, value: Opaque, node: cst.Subscript, depth: int) -> Axes | None:
        """The axes of what an index picks."""
        base = self.of(value.operands[0], depth)
        more = base.more
        for element in node.slice:
            part = element.slice
            if isinstance(part, cst.Slice):
                continue
            inner = part.value if isinstance(part, cst.Index) else None
            if isinstance(inner, cst.Name) and inner.value == "None":
                more += 1
            elif isinstance(inner, cst.Ellipsis):
                continue
            elif (
                inner is not None and integer(self.analysis.plan.facts.values_of(inner)) is not None
            ):
                more -= 1
            else:
                return None
        return Axes(base.origin, more)

    def called(self, word: str, tensor: Values, given: Given, depth: int) -> Axes | None:
        """The axes of what a function or method of tensors gives."""
        base = self.of(tensor, depth)
        if word in TURNING:
            return base
        if word in SIZED or word in ("view", "reshape"):
            sizes = given.all_sizes() if word in SIZED else given.positional()
            known = bool(sizes) and all(integer(one) is not None for one in sizes)
            return Axes(0, len(sizes)) if known else None
        if word in ("unsqueeze", "expand_dims"):
            return Axes(base.origin, base.more + 1)
        if word == "squeeze":
            dims = given.dims()
            return Axes(base.origin, base.more - 1) if dims is not None and len(dims) == 1 else None
        if word in REDUCING:
            at = 1 if word in ("norm", "vector_norm", "quantile", "nanquantile") else 0
            dims = given.dims(at)
            if dims == () or base == NUMBER:
                return NUMBER
            if dims is None or word in PAIRS_OF:
                return None
            return (
                base if keeps_dimensions(word, given) else Axes(base.origin, base.more - len(dims))
            )
        if word in COMBINING:
            return self.combined([tensor, *given.positional()[:1]], depth)
        return base if word in KEEPING else None
