"""Products of matrices and sums over named axes."""

from __future__ import annotations

from transpile.facts.values import Constant

from .bound import Bound, tensor_of
from .domain import LENGTH, UNIT, Dim, Known, Tensor
from .shapes import Dims, Impossible, Mixed, Unclear, broadcast, position

SUMMED = "the samples of the batch are summed over"


def matrix_product(one: Tensor, other: Tensor) -> Tensor:
    """``one @ other``."""
    if one.dims is None or other.dims is None:
        if one.whole and other.whole:
            return Tensor(None)
        if (one.dims and one.dims[-1].samples) or (other.dims and other.dims[-2:][0].samples):
            # Whatever the other one is, as that of a graph's edges.
            raise Mixed(SUMMED)
        raise Unclear("the shape of a tensor that samples are multiplied with is not known")
    if not one.dims or not other.dims:
        raise Impossible
    left = one.dims if len(one.dims) > 1 else (UNIT, *one.dims)
    right = other.dims if len(other.dims) > 1 else (*other.dims, UNIT)
    if left[-1].samples or right[-2].samples:
        if left[-1].samples is not right[-2].samples:
            # The number of samples would have to be that of the features.
            raise Impossible
        raise Mixed(SUMMED)
    first, second = left[-1].size, right[-2].size
    if first is not None and second is not None and first != second:
        if not first.symbols and not second.symbols:
            raise Impossible
    outer = broadcast(left[:-2], right[:-2])
    dims = (*outer, left[-2], right[-1])
    if sum(dim.samples for dim in dims) > 1:
        raise Mixed("every sample is compared with every other")
    if len(one.dims) == 1:
        dims = (*dims[:-2], dims[-1])
    if len(other.dims) == 1:
        dims = dims[:-1]
    return Tensor(dims, drawn=one.drawn or other.drawn)


#: The ranks that products take which do not spread their operands.
RANKS = {
    "mm": (2, 2),
    "spmm": (2, 2),
    "bmm": (3, 3),
    "mv": (2, 1),
    "addmm": (2, 2),
    "baddbmm": (3, 3),
}
RANKS["addmv"] = RANKS["mv"]


def ranked_product(word: str, one: Tensor, other: Tensor) -> Tensor:
    """A product whose operation tells the ranks of its operands."""
    for tensor, rank in zip((one, other), RANKS.get(word, ()), strict=False):
        if tensor.dims is not None and len(tensor.dims) != rank:
            raise Impossible
    return matrix_product(one, other)


def products(bound: Bound) -> Known:
    """A product of matrices."""
    return ranked_product(bound.word, bound.tensor("input"), bound.tensor("other"))


def added_products(bound: Bound) -> Known:
    """A product of matrices that is added to a tensor."""
    from .bound import pointwise

    made = ranked_product(bound.word.rstrip("_"), bound.tensor("one"), bound.tensor("other"))
    return pointwise(bound.run, bound.word, bound.tensor("input"), made)


def outers(bound: Bound) -> Known:
    """Every entry of one vector with every entry of another."""
    one, other = bound.tensor("input"), bound.tensor("other")
    if one.dims is None or other.dims is None:
        return Tensor(None)
    if len(one.dims) != 1 or len(other.dims) != 1:
        raise Impossible
    if not one.whole and not other.whole:
        raise Mixed("every sample is compared with every other")
    return Tensor((*one.dims, *other.dims))


def distances(bound: Bound) -> Known:
    """The distances of the rows of one tensor from those of another."""
    one, other = bound.tensor("input"), bound.tensor("other")
    if one.dims is None or other.dims is None:
        raise Unclear("the shape of what samples are compared with is not known")
    if len(one.dims) < 2 or len(other.dims) < 2:
        raise Impossible
    if one.dims[-1].samples or other.dims[-1].samples:
        raise Mixed(SUMMED)
    dims = (*broadcast(one.dims[:-2], other.dims[:-2]), one.dims[-2], other.dims[-2])
    if sum(dim.samples for dim in dims) > 1:
        raise Mixed("every sample is compared with every other")
    return Tensor(dims)


def dots(bound: Bound) -> Known:
    """The product of two vectors."""
    one, other = bound.tensor("input"), bound.tensor("other")
    if one.dims is not None and other.dims is not None:
        if len(one.dims) != 1 or len(other.dims) != 1:
            raise Impossible
    return matrix_product(one, other)


def tensordots(bound: Bound) -> Known:
    """A product over several axes."""
    one, other = bound.tensor("input"), bound.tensor("other")
    number = bound.integer("count", 2)
    if one.dims is None or other.dims is None or number is None:
        raise Unclear("over which axes 'tensordot' goes is not known")
    gone = (*one.dims[len(one.dims) - number :], *other.dims[:number])
    if any(dim.samples for dim in gone):
        raise Mixed(SUMMED)
    dims = (*one.dims[: len(one.dims) - number], *other.dims[number:])
    if sum(dim.samples for dim in dims) > 1:
        raise Mixed("every sample is compared with every other")
    return Tensor(dims)


def einsum(bound: Bound) -> Known:
    """Sums over named axes."""
    equation = bound.get("equation")
    operands = bound.get("operands")
    if not isinstance(equation, Constant) or not isinstance(equation.value, str):
        raise Unclear("over which axes 'einsum' goes is not known")
    text = equation.value.replace(" ", "")
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    parts = getattr(operands, "elements", ())
    if len(terms) != len(parts):
        raise Impossible
    sizes: dict[str, Dim] = {}
    spread: Dims = ()
    for term, part in zip(terms, parts, strict=True):
        tensor = tensor_of(bound.run, part)
        if tensor.dims is None:
            if any(bound.run.sampled(one) for one in parts):
                # The letters tell how many axes it has.
                tensor = Tensor((LENGTH,) * len(term.replace("...", "")))
            else:
                return Tensor(None)
        dims = tensor.dims or ()
        before, dots, behind = term.partition("...")
        extra = len(dims) - len(before) - len(behind)
        if extra < 0 or (extra and not dots):
            raise Impossible
        spread = broadcast(spread, dims[len(before) : len(before) + extra])
        letters = before + behind
        for letter, dim in zip(
            letters, (*dims[: len(before)], *dims[len(before) + extra :]), strict=True
        ):
            known = sizes.get(letter)
            if known is not None and known.samples is not dim.samples:
                raise Impossible
            if known is None or known.size is None or dim.samples:
                sizes[letter] = dim
    if not arrow:
        letters = "".join(terms).replace("...", "")
        wanted = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
        wanted = "..." + wanted if spread else wanted
    if any(dim.samples and letter not in wanted for letter, dim in sizes.items()):
        raise Mixed(SUMMED)
    if "..." not in wanted and any(dim.samples for dim in spread):
        raise Mixed(SUMMED)
    before, dots, behind = wanted.partition("...")
    found = (*(sizes[x] for x in before), *(spread if dots else ()), *(sizes[x] for x in behind))
    if sum(dim.samples for dim in found) > 1:
        raise Mixed("every sample is compared with every other")
    return Tensor(found)


def similarities(bound: Bound) -> Known:
    """What compares two tensors along an axis."""
    from .bound import pointwise
    from .shapes import without

    made = pointwise(bound.run, bound.word, bound.tensor("input"), bound.tensor("other"))
    if made.dims is None:
        return made
    axes = bound.axes("dim", (1,) if bound.word == "cosine_similarity" else (-1,))
    assert axes is not None
    if any(made.dims[position(axis, len(made.dims))].samples for axis in axes):
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    return Tensor(without(made.dims, axes, bool(bound.flag("keepdim"))))


def attention(bound: Bound) -> Known:
    """Queries look at keys: the last two axes are places and features."""
    query, key, value = (bound.tensor(name) for name in ("query", "key", "value"))
    mask = bound.get("mask")
    weights = matrix_product(query, transposed(key))
    if isinstance(mask, Tensor):
        from .bound import pointwise

        weights = pointwise(bound.run, bound.word, weights, mask)
    if weights.dims is not None and weights.dims[-1].samples:
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    if bound.get("dropout_p") not in (None, Constant(0), Constant(0.0)):
        bound.run.noise = True
    if weights.dims is not None and weights.dims[-2].samples:
        if not key.whole or not value.whole:
            raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    return matrix_product(weights, value)


def transposed(tensor: Tensor) -> Tensor:
    """The last two axes change places."""
    if tensor.dims is None:
        return tensor
    if len(tensor.dims) < 2:
        raise Impossible
    return Tensor((*tensor.dims[:-2], tensor.dims[-1], tensor.dims[-2]))


PRODUCTS = {
    function.__name__: function
    for function in (
        products, added_products, outers, distances, dots, tensordots, einsum, similarities,
        attention,
    )
}  # fmt: skip
