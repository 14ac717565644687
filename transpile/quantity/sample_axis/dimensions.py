"""The quantities of what looks along a dimension."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.values import Constant, Opaque, Sequence, Values
from transpile.records import replace

from .. import algebra, domain
from ..domain import Duty, Kind, Pending, Quantity
from ..operations import (
    ALONG,
    COUNTED_ALL,
    DEFAULT_DIM,
    DEVIATIONS,
    DIM_POSITION,
    JOINING,
    LAST_BY_DEFAULT,
    POSITIONS,
    SPATIAL,
    SUMS,
)
from .orders import REORDERING
from .shapes import Given, integer, piece

LAST = "'{}' looks along the last dimension, which may count the samples"
ANY = "'{}' looks along a dimension that may count the samples"
ACROSS = "'{}' looks across the samples of a batch"


def reduced_over(word: str, tensor: Quantity, given: Given) -> Quantity:
    """A sum or mean, over everything or some dimensions."""
    reduce = algebra.total if word in SUMS else algebra.average
    if word == "average" and given.get("weights", 1):
        return domain.unknown("it is an average by weights", whole=True)
    if word == "nanmean" and tensor.kind is Kind.SAMPLE:
        tensor = replace(tensor, selection=True)
    if word == "count_nonzero":
        tensor = tensor.without_gradient()
    if tensor.kind is not Kind.SAMPLE:
        return tensor if tensor.kind is not Kind.UNKNOWN else after_reduction(tensor, given)
    if given.get("exclude", None) not in ((), (Constant(False),)):
        return reduced_over_others(word, tensor, given)
    dims = given.dims()
    if dims == ():
        return reduce(tensor)
    if dims is None:
        return domain.unknown(f"the dimensions of '{word}' are not known")
    if tensor.dim is None:
        return domain.unknown(ANY.format(word))
    if tensor.dim in dims:
        return reduce(tensor)
    if any(tensor.may_count_along(dim) for dim in dims):
        return domain.unknown(LAST.format(word))
    rank = tensor.rank if keeps_dimensions(word, given) else max(1, tensor.rank - len(dims))
    dim = tensor.dim - before(word, dims, tensor.dim, given)
    return replace(tensor, content=kept_content(tensor), dim=dim, rank=rank)


def reduced_over_others(word: str, tensor: Quantity, given: Given) -> Quantity:
    """A sum or mean over all dimensions but those that are named."""
    dims = given.dims()
    if dims is None and tensor.dim == 0:
        # What losses name there is the dimension of the samples, which is the first.
        dims = (0,)
    if not dims or tensor.dim is None or given.get("exclude", None) != (Constant(True),):
        return domain.unknown(f"the dimensions of '{word}' are not known")
    if tensor.dim in dims:
        dim = sum(0 <= one < tensor.dim for one in dims)
        return replace(tensor, content=kept_content(tensor), dim=dim)
    return algebra.total(tensor) if word in SUMS else algebra.average(tensor)


def is_plain_mean(value: Opaque, given: Given) -> bool:
    """Whether a mean is one over everything, written so that it can be taken apart."""
    count = len(value.arguments.items) - given.offset
    return count == 0 and isinstance(value.node, cst.Call) and len(value.callee) == 1


def selected_mean(tensor: Quantity, value: Opaque) -> Quantity:
    """The mean of a selection of samples: how many they are differs between the processes."""
    if tensor.kind is not Kind.SAMPLE:
        return algebra.average(tensor)
    found = algebra.average(replace(tensor, selection=False))
    return replace(found, pending=found.pending | {Pending(Duty.MEAN, value.node, value.module)})


def reordered(word: str, tensor: Quantity, given: Given) -> Quantity:
    """What turns a tensor round or rolls it on: another sample in each place, or the same."""
    if tensor.kind is not Kind.SAMPLE:
        return tensor
    if word == "flip":
        dims = given.dims() or tuple(
            one for values in given.positional() if (one := integer(values)) is not None
        )
    else:
        dims = {"flipud": (0,), "fliplr": (1,)}.get(word) or given.dims(1) or (0,)
    if any(tensor.may_count_along(dim) for dim in dims):
        return domain.unknown(REORDERING)
    return tensor


def after_reduction(quantity: Quantity, given: Given) -> Quantity:
    """An unknown after a reduction: a single number, if it was over everything."""
    return replace(quantity, whole=True) if given.dims() == () else quantity


def along(word: str, tensor: Quantity, given: Given, others: list[Quantity]) -> Quantity:
    """What looks along a dimension: harmless unless that counts the samples."""
    if word in ("cosine_similarity", "pairwise_distance", "cross") and others:
        tensor = algebra.nonlinear(word, tensor, others[0])
    if tensor.kind is not Kind.SAMPLE:
        found = algebra.nonlinear(word, tensor)
        return found if found.kind is not Kind.UNKNOWN else after_reduction(found, given)
    dims = (-1,) if word == "pairwise_distance" else given.dims(DIM_POSITION.get(word, 0))
    if word in COUNTED_ALL:
        dims = ()
    if dims == () and word in ("topk", "kthvalue", "sort", "msort", "argsort"):
        return domain.unknown(LAST.format(word))
    if dims == () and word in ALONG:
        dims = (DEFAULT_DIM.get(word, -1),)
    content = "index" if word in POSITIONS else ""
    if dims is None:
        return domain.unknown(f"the dimensions of '{word}' are not known")
    if dims == ():
        return domain.unknown(f"'{word}' looks at all samples of the batch at once", whole=True)
    if tensor.dim is not None and tensor.dim in dims:
        return domain.unknown(ACROSS.format(word))
    if any(tensor.may_count_along(dim) for dim in dims):
        return domain.unknown((LAST if tensor.dim is not None else ANY).format(word))
    keeps = word in ALONG and word not in ("cosine_similarity", "pairwise_distance")
    moved = 0 if keeps or tensor.dim is None else before(word, dims, tensor.dim, given)
    found = algebra.nonlinear(word, tensor)
    if found.kind is not Kind.SAMPLE:
        return found
    gradient = replace(found, content=content)
    if word in POSITIONS:
        gradient = gradient.without_gradient()
    return replace(gradient, dim=None if found.dim is None else found.dim - moved)


#: The dimensions of their input that they sum over, or compare the entries of.
CONTRACTING = {"linear": (-1,), "bilinear": (-1,), "scaled_dot_product_attention": (-1, -2)}


def couples(word: str, tensor: Quantity, given: Given) -> bool:
    """Whether what otherwise works on each sample alone works on several here."""
    if word == "batch_norm":
        return given.get("training", 4) not in ((), (Constant(False),))
    if word in ("pad", "pad_either"):
        widths = given.get("pad", 0)
        if word == "pad_either" and pads_first(tensor, widths):
            return True
        return pads_samples(tensor, widths)
    if word == "unfold" and not given.offset:
        at = integer(given.get("dimension", 0))
        return at is None or tensor.may_count_along(at)
    if word in CONTRACTING:
        return any(map(tensor.may_count_along, CONTRACTING[word]))
    if word in SPATIAL:
        return tensor.dim != 0
    if word in ("select", "narrow"):
        dims = given.dims()
        return dims is None or any(tensor.may_count_along(at) for at in dims)
    if word in LAST_BY_DEFAULT:
        dims = given.dims(LAST_BY_DEFAULT[word]) or (-1,)
        return any(tensor.may_count_along(dim) for dim in dims)
    return False


def pads_samples(tensor: Quantity, widths: Values) -> bool:
    """Whether a padding, told from the last dimension on, may add to the samples."""
    if len(widths) != 1 or not isinstance(widths[0], Sequence) or widths[0].rest:
        return True
    several = widths[0].elements
    return any(
        tensor.may_count_along(-1 - at // 2)
        for at, width in enumerate(several)
        if width != (Constant(0),)
    )


def pads_first(tensor: Quantity, widths: Values) -> bool:
    """Whether a padding that is told from the first dimension on may add to the samples."""
    if len(widths) != 1 or not isinstance(widths[0], Sequence) or tensor.dim is None:
        return True
    several = widths[0].elements
    own = several[2 * tensor.dim : 2 * tensor.dim + 2]
    return len(several) == 2 * tensor.rank and any(width != (Constant(0),) for width in own)


OTHERS = "'{}' puts what is no sample beside the samples of a batch"


def concatenated(word: str, tensor: Quantity, given: Given, parts: list[Quantity]) -> Quantity:
    """Several tensors in one.

    Args:
        word: what joins them.
        tensor: what each of them may be.
        given: the arguments.
        parts: what each of them is, as far as they are told apart.
    """
    if tensor.kind is not Kind.SAMPLE:
        return tensor
    dims = given.dims()
    at = dims[0] if dims else 0
    if dims is None and tensor.dim is None:
        return domain.unknown(f"the dimensions of '{word}' are not known")
    if word in JOINING and at == tensor.dim and any(one.kind is Kind.EQUAL for one in parts):
        return domain.unknown(OTHERS.format(word))
    if word == "stack" and tensor.dim is not None and 0 <= at <= tensor.dim:
        return replace(tensor, dim=tensor.dim + 1, content=kept_content(tensor))
    return replace(tensor, content=kept_content(tensor))


def laid_side_by_side(tensor: Quantity, given: Given) -> Quantity:
    """``stack(samples)`` of one list of samples, which counts them itself, not in each element."""
    dims = given.dims()
    at = dims[0] if dims else 0 if dims == () else None
    if tensor.kind is not Kind.SAMPLE:
        return tensor
    if tensor.dim != 0 or at is None or at < 0:
        return replace(tensor, dim=None, content=kept_content(tensor))
    return replace(tensor, dim=at, content=kept_content(tensor))


def kept_content(tensor: Quantity) -> str:
    """What still stands in a tensor once it has another shape: places are those of samples."""
    return "place" if tensor.content == "place" else ""


OTHER_PIECES = "'{}' takes pieces of a batch: a share of it has others"


def split(word: str, tensor: Quantity, given: Given, batches: Callable[[], bool]) -> Quantity:
    """Parts of a tensor along a dimension; where that counts the samples, nobody knows which.

    Args:
        word: what splits it.
        tensor: the tensor.
        given: the arguments.
        batches: tells whether it holds several batches, which the parts are.
    """
    if tensor.kind is not Kind.SAMPLE:
        return tensor
    if word in ("hsplit", "array_split", "unbind_copy") or tensor.dim is None:
        return replace(tensor, dim=None)
    dims = given.dims(0 if word == "unbind" else 1)
    at = 0 if dims == () else dims[0] if dims else None
    if at == tensor.dim and word == "unbind":
        return piece(tensor)
    if at == tensor.dim:
        return tensor if batches() else domain.unknown(OTHER_PIECES.format(word))
    if at is None:
        return replace(tensor, dim=None)
    moved = word == "unbind" and 0 <= at < tensor.dim
    return replace(tensor, dim=tensor.dim - moved)


def scattered(word: str, index: Quantity, source: Quantity, onto_zeros: bool) -> Quantity | None:
    """Entries of samples at places that they say, along the first dimension of another tensor.

    None where nothing depends on the samples.
    """
    if Kind.SAMPLE not in (index.kind, source.kind):
        return None
    if word in ("scatter_add", "index_add") and onto_zeros:
        # What comes to one place is added up.
        if source.kind is Kind.SAMPLE and not source.coupled:
            return algebra.total(source)
    return domain.unknown(f"'{word}' puts the samples of a batch together", whole=True)


def is_elementwise_pair(given: Given) -> bool:
    """Whether ``max(x, y)`` compares two tensors rather than looks along a dimension."""
    second = given.positional()
    return (
        len(second) == 1
        and integer(second[0]) is None
        and not (given.arguments.get("dim") or given.arguments.get("axis"))
    )


def before(word: str, dims: tuple[int, ...], dim: int, given: Given) -> int:
    """How many of the dimensions that go away stand before the samples'."""
    return 0 if keeps_dimensions(word, given) else sum(0 <= one < dim for one in dims)


def keeps_dimensions(word: str, given: Given) -> bool:
    """Whether a reduction leaves its dimensions, of size 1."""
    if any(given.get(name, None) == (Constant(True),) for name in ("keepdim", "keepdims")):
        return True
    # Behind the dimensions stands this flag, in some libraries behind a type, and for deviations
    # behind another flag.
    first = DIM_POSITION.get(word, 0) + (2 if word in DEVIATIONS else 1)
    behind = given.arguments.positional()[given.offset + first :]
    return any(item.values == (Constant(True),) for item in behind)
