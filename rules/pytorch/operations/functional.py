"""Functions that are layers, or need a look of their own."""

from __future__ import annotations

from collections.abc import Callable

from transpile.facts.values import Constant
from transpile.rows.along import kept_along
from transpile.rows.bound import Bound, pointwise
from transpile.rows.domain import LENGTH, NONE, PLAIN, Dim, Group, Known, Number, Tensor
from transpile.rows.shapes import Impossible, Mixed, Unclear, broadcast, sample_axis
from transpile.rows.state import Given, Running

from .layers import FUNCTIONAL_IMAGES
from .modules import image, last_three, pooled, upsampled

Handler = Callable[[Bound], Known]


def call_functional(run: Running, word: str, given: Given) -> Known | None:
    """What a function gives; None where it has no entry here."""
    if word in FUNCTIONAL_IMAGES:
        signature, handler = FUNCTIONAL_IMAGE
    elif word in HANDLERS:
        signature, handler = HANDLERS[word]
    else:
        return None
    names = list(given.keywords)
    count = len(given.items)

    def one(*values: Known) -> Known:
        own = Given(values[:count], dict(zip(names, values[count:], strict=True)))
        return handler(Bound(run, word, own, signature))

    return run.apply(one, *given.items, *given.keywords.values())


def images(bound: Bound) -> Known:
    """Convolutions and pools."""
    rank, alone = FUNCTIONAL_IMAGES[bound.word]
    weight = bound.get("weight")
    if not alone and isinstance(weight, Tensor) and not weight.whole:
        raise Unclear("weights of a convolution are made of samples")
    channels = None
    if not alone and isinstance(weight, Tensor) and weight.dims:
        channels = weight.dims[0].size
    found = image(bound.tensor("input"), bound.word, rank, alone, channels)
    if bound.word.startswith("adaptive"):
        return pooled(found, bound.get("weight") or bound.get("output_size"), rank)
    if bound.get("return_indices") == Constant(True):
        return Group((found, found))
    return found


def linear(bound: Bound) -> Known:
    """The last axis is replaced."""
    tensor, weight = bound.tensor("input"), bound.tensor("weight")
    if not weight.whole:
        raise Unclear("weights of a layer are made of samples")
    if tensor.dims is None:
        return Tensor(None)
    if not tensor.dims or tensor.dims[-1].samples:
        raise Impossible
    size = weight.dims[0].size if weight.dims else None
    return Tensor((*tensor.dims[:-1], Dim(size)))


def embedding(bound: Bound) -> Known:
    """A new axis behind the others."""
    tensor, weight = bound.tensor("input"), bound.tensor("weight")
    if not weight.whole:
        raise Mixed("every sample may be looked up for every other")
    if tensor.places:
        raise Mixed("its values depend on where in the batch a sample stands", "count")
    if tensor.dims is None:
        return Tensor(None)
    return Tensor((*tensor.dims, Dim(weight.dims[-1].size) if weight.dims else LENGTH))


def layer_norm(bound: Bound) -> Known:
    """Statistics over the last axes."""
    tensor = bound.tensor("input")
    shape = bound.get("normalized_shape")
    if tensor.dims is None:
        return tensor
    count = len(shape.elements) if isinstance(shape, Group) and shape.rest is None else None
    if count is None:
        if isinstance(shape, Group):
            raise Unclear("over which axes 'layer_norm' goes is not known")
        count = 1
    if isinstance(shape, Group) and any(
        isinstance(one, Number) and one.samples for one in shape.elements
    ):
        raise Mixed("'layer_norm' goes along the samples of the batch")
    if count > len(tensor.dims) or any(dim.samples for dim in tensor.dims[-count:]):
        raise Impossible
    return tensor


def batch_norm(bound: Bound) -> Known:
    """Batch norm with statistics that no layer keeps, which nothing synchronises."""
    tensor = bound.tensor("input")
    training = bound.get("training")
    if tensor.whole:
        return tensor
    if bound.get("mean") in (None, NONE) or training not in (None, Constant(False)):
        raise Mixed("'batch_norm' takes statistics over the samples of the batch")
    return tensor


def instance_norm(bound: Bound) -> Known:
    """Statistics over each channel of each sample."""
    tensor = bound.tensor("input")
    if tensor.dims is not None and (sample_axis(tensor.dims) or 0) > 1:
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    if bound.get("running_mean") not in (None, NONE):
        raise Unclear("instance norm keeps running statistics", "state")
    return tensor


def group_norm(bound: Bound) -> Known:
    """Statistics over all that lies behind the samples."""
    tensor = bound.tensor("input")
    if tensor.dims is not None and (sample_axis(tensor.dims) or 0) > 0:
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    return tensor


def padded(bound: Bound) -> Known:
    """The last axes are longer."""
    tensor = bound.tensor("input")
    pads = bound.get("pad")
    if tensor.dims is None:
        return tensor
    if not isinstance(pads, Group) or pads.rest is not None:
        raise Unclear("which axes are padded is not known")
    count = len(pads.elements) // 2
    if count > len(tensor.dims):
        raise Impossible
    dims = list(tensor.dims)
    for offset in range(count):
        pair = pads.elements[2 * offset : 2 * offset + 2]
        if all(one == Constant(0) for one in pair):
            continue
        place = len(dims) - 1 - offset
        if dims[place].samples:
            raise Mixed("samples are put behind those of the batch")
        dims[place] = LENGTH
    return Tensor(tuple(dims), drawn=tensor.drawn)


def interpolated(bound: Bound) -> Known:
    """Images become larger or smaller."""
    tensor = bound.tensor("input")
    return upsampled(bound.run, bound.word, tensor, Given(), Given()) if tensor.dims else tensor


def shuffled(bound: Bound) -> Known:
    """Channels become places."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return tensor
    return last_three(bound.run, bound.word, tensor, Given(), Given())


def gumbel(bound: Bound) -> Known:
    """Softmax with noise of its own in each entry."""
    tensor = bound.tensor("input")
    bound.run.noise = True
    return tensor if tensor.dims is None else kept_along(bound, tensor, bound.axes("dim", (-1,)))


def sampled_grid(bound: Bound) -> Known:
    """Images looked up at places."""
    tensor, grid = bound.tensor("input"), bound.tensor("grid")
    if tensor.axis != 0 or grid.axis != 0 or tensor.dims is None or grid.dims is None:
        raise Unclear(f"where the samples of '{bound.word}' stand is not known")
    return Tensor((*tensor.dims[:2], *grid.dims[1:-1]))


def affine_grid(bound: Bound) -> Known:
    """Places for each sample."""
    theta = bound.tensor("input")
    if theta.axis != 0 or theta.dims is None:
        raise Unclear("where the samples of 'affine_grid' stand is not known")
    sizes = bound.sizes("size")
    return Tensor((theta.dims[0], *((LENGTH,) * (len(sizes) - 1))))


def unfolded(bound: Bound) -> Known:
    """Patches of images, or windows along an axis."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return tensor
    if len(tensor.dims) != 4 or sample_axis(tensor.dims) not in (None, 0):
        raise Unclear("which axes are unfolded is not known")
    return Tensor((tensor.dims[0], LENGTH, LENGTH))


def grids(bound: Bound) -> Known:
    """Every pair of places."""
    given = bound.get("tensors")
    parts = given.elements if isinstance(given, Group) else ()
    if any(bound.run.sampled(one) for one in parts):
        raise Mixed("every sample is put beside every other")
    return Group((Tensor((LENGTH,) * len(parts)),) * len(parts))


def multinomial(bound: Bound) -> Known:
    """Places drawn for each row."""
    tensor = bound.tensor("input")
    bound.run.noise = True
    if tensor.dims is None:
        return Tensor(None, drawn=True)
    if tensor.dims[-1].samples:
        raise Mixed("some of the samples are drawn at random", "noise")
    return Tensor((*tensor.dims[:-1], LENGTH), drawn=tensor.whole)


def looked_up(bound: Bound) -> Known:
    """Where values stand among sorted borders."""
    tensor, borders = bound.tensor("input"), bound.tensor("borders")
    if not borders.whole:
        raise Unclear("the borders are made of samples")
    return Tensor(tensor.dims)


def sorted_places(bound: Bound) -> Known:
    """The same with the borders first."""
    borders, tensor = bound.tensor("input"), bound.tensor("borders")
    if not borders.whole:
        raise Unclear("the borders are made of samples")
    return Tensor(tensor.dims)


def chosen(bound: Bound) -> Known:
    """``torch.where``: of two by a condition, or the places where one holds."""
    condition = bound.get("input")
    if bound.get("one") is None:
        if bound.run.sampled(condition or PLAIN):
            raise Mixed("'where' looks at all samples of the batch at once")
        return Group((), Tensor((LENGTH,)))
    return pointwise(bound.run, "where", condition or PLAIN, bound.get("one") or PLAIN,
                     bound.get("other") or PLAIN)  # fmt: skip


def permutation(bound: Bound) -> Known:
    """Numbers in random order."""
    bound.run.noise = True
    sizes = bound.sizes("size")
    if any(one is not None and (one.samples or one.counted) for one in sizes):
        raise Mixed("the samples are put in a random order", "samples")
    return Tensor((LENGTH,), drawn=True)


def spread_together(bound: Bound) -> Known:
    """Tensors of one shape."""
    given = bound.get("tensors")
    if not isinstance(given, Group) or given.rest is not None:
        raise Unclear("which tensors are spread out is not known")
    tensors = [one for one in given.elements if isinstance(one, Tensor)]
    dims: tuple[Dim, ...] = ()
    for one in tensors:
        if one.dims is None:
            raise Unclear("the shape of a tensor is not known")
        dims = broadcast(dims, one.dims)
    return Group((Tensor(dims),) * len(given.elements))


FUNCTIONAL_IMAGE: tuple[str, Handler] = ("input weight", images)
HANDLERS: dict[str, tuple[str, Handler]] = {
    "linear": ("input weight bias", linear),
    "embedding": ("input weight", embedding),
    "layer_norm": ("input normalized_shape weight bias eps", layer_norm),
    "rms_norm": ("input normalized_shape weight eps", layer_norm),
    "batch_norm": ("input mean variance weight bias training momentum eps", batch_norm),
    "instance_norm": ("input running_mean running_var weight bias", instance_norm),
    "group_norm": ("input groups weight bias eps", group_norm),
    "local_response_norm": ("input size", group_norm),
    "pad": ("input pad mode value", padded),
    "interpolate": ("input size scale_factor mode align_corners", interpolated),
    "upsample": ("input size scale_factor mode align_corners", interpolated),
    "pixel_shuffle": ("input upscale_factor", shuffled),
    "pixel_unshuffle": ("input downscale_factor", shuffled),
    "channel_shuffle": ("input groups", group_norm),
    "gumbel_softmax": ("input tau hard eps dim", gumbel),
    "grid_sample": ("input grid", sampled_grid),
    "affine_grid": ("input size", affine_grid),
    "unfold": ("input kernel_size", unfolded),
    "meshgrid": ("*tensors", grids),
    "multinomial": ("input number replacement", multinomial),
    "bucketize": ("input borders", looked_up),
    "searchsorted": ("input borders", sorted_places),
    "where": ("input one other", chosen),
    "randperm": ("*size", permutation),
    "broadcast_tensors": ("*tensors", spread_together),
}
