"""What calls of layers give, from the table of layers."""

from __future__ import annotations

from transpile.facts.values import Constant, Value
from transpile.rows.bound import Bound, number_of, pointwise, tensor_of
from transpile.rows.domain import (
    LENGTH,
    NONE,
    UNIT,
    Dim,
    Factor,
    Group,
    Known,
    Record,
    Tensor,
    choice,
)
from transpile.rows.kept import put_in
from transpile.rows.kinds import KINDS
from transpile.rows.shapes import Impossible, Mixed, Unclear, sample_axis
from transpile.rows.state import Given, Running

from .layers import (
    BATCH_NORMS,
    CELLS,
    IMAGES,
    LOSS_CLASSES,
    MODELS,
    NOISE_LAYERS,
    RECURRENT,
    SAME_LAYERS,
    TRANSFORMERS,
    WRAPPERS,
)
from .losses import loss
from .networks import library_model
from .sequences import (
    attention,
    cell,
    recurrent,
    size_at,
    transformer,
)


def call_layer(run: Running, name: str, layer: Value, made: Given, given: Given) -> Known | None:
    """What a call of a library's layer gives, by the name of what made it; None if not known."""
    if name in WRAPPERS:
        return run.call(made.items[0], given) if made.items else None
    if name.startswith(MODELS):
        return library_model(run, name, made, given)
    word = name.rpartition(".")[2]
    if word == "Sequential":
        return chain(run, layer, made, given)
    if word in LOSS_CLASSES:
        return loss(run, LOSS_CLASSES[word], made, given)
    if not given.every():
        return None

    def one(first: Known) -> Known:
        tensor = first if isinstance(run.held(first), (Group, Record)) else tensor_of(run, first)
        rest = Given((tensor, *given.items[1:]), given.keywords)
        return layer_on(run, word, made, rest)

    first = given.items[0] if given.items else next(iter(given.keywords.values()))
    return run.apply(one, first)


def layer_on(run: Running, word: str, made: Given, given: Given) -> Known:
    """The same for one alternative of the first argument."""
    tensor = given.items[0]
    if word in RECURRENT:
        return recurrent(run, word, made, given)
    if word in CELLS:
        return cell(run, word, made, given)
    if word == "MultiheadAttention":
        return attention(run, made, given)
    if word in TRANSFORMERS:
        return transformer(run, word, made, given)
    if not isinstance(tensor, Tensor):
        raise Unclear(f"what '{word}' is called on is not known")
    if word in SAME_LAYERS:
        return tensor
    if word in NOISE_LAYERS:
        if made.get("p", 0) not in (Constant(0), Constant(0.0)):
            run.noise = True
        return tensor
    if word in IMAGES:
        rank, alone = IMAGES[word]
        if word.startswith("InstanceNorm") and made.get("track_running_stats", 4) == Constant(True):
            raise Mixed("instance norm keeps running statistics of the samples", "state")
        found = image(tensor, word, rank, alone, size_at(made, "out_channels", 1))
        if word.startswith("Adaptive"):
            found = pooled(found, made.get("output_size", 0), rank)
        if made.get("return_indices", 4) == Constant(True):
            return Group((found, found))
        return found
    if word in BATCH_NORMS:
        return batch_norm(run, tensor, BATCH_NORMS[word])
    if tensor.dims is None:
        return tensor
    handler = HANDLERS.get(word)
    if handler is None:
        raise Unclear(f"nothing is known of 'torch.nn.{word}'", "object")
    return handler(run, word, tensor, made, given)


def image(
    tensor: Tensor, word: str, rank: int, alone: bool, channels: Factor | None = None
) -> Tensor:
    """A layer on images of so many dimensions, behind samples and channels."""
    dims = tensor.dims
    if dims is None:
        return Tensor(None, drawn=tensor.drawn)
    if len(dims) not in (rank + 1, rank + 2):
        raise Impossible
    at = sample_axis(dims)
    first = len(dims) - rank
    if at is not None:
        if at >= first:
            raise Mixed(f"'{word}' goes along the samples of the batch")
        if at == first - 1 and not alone:
            # As many channels as samples: no layer is made for that.
            raise Impossible
    kept = dims[:first]
    if not alone:
        kept = (*kept[:-1], Dim(channels))
    if word.startswith(("InstanceNorm",)):
        return Tensor(dims)
    return Tensor((*kept, *((LENGTH,) * rank)), drawn=tensor.drawn)


def pooled(tensor: Tensor, size: Known | None, rank: int) -> Tensor:
    """The shape behind an adaptive pool."""
    if tensor.dims is None or size is None:
        return tensor
    if isinstance(size, Constant) and isinstance(size.value, int):
        return Tensor((*tensor.dims[:-rank], *((Dim(Factor(size.value)),) * rank)))
    if isinstance(size, Group) and len(size.elements) == rank:
        sizes = tuple(
            Dim(number_of(one).size) if isinstance(one, Constant) else LENGTH
            for one in size.elements
        )
        return Tensor((*tensor.dims[:-rank], *sizes))
    return tensor


def batch_norm(run: Running, tensor: Tensor, rank: int | None) -> Tensor:
    """Batch norm: its statistics are those of the whole batch once it is synchronised."""
    dims = tensor.dims
    if dims is None:
        return tensor
    allowed = {None: range(2, 7), 1: (2, 3)}.get(rank) or (rank + 2,) if rank else range(2, 7)
    if len(dims) not in allowed or dims[1].samples:
        raise Impossible
    if not tensor.whole:
        run.batch_norm = True
    return tensor


def linear(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """The last axis is replaced."""
    dims = tensor.dims or ()
    if not dims or dims[-1].samples:
        raise Impossible
    wanted = size_at(made, "in_features", 0) if word != "LazyLinear" else None
    own = dims[-1].size
    if wanted is not None and own is not None and not wanted.symbols and not own.symbols:
        if wanted != own:
            raise Impossible
    place = 0 if word == "LazyLinear" else 1
    return Tensor((*dims[:-1], Dim(size_at(made, "out_features", place))), drawn=tensor.drawn)


def bilinear(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """The last axes of two tensors are replaced by another."""
    other = tensor_of(run, given.items[1])
    if other.dims is None or not tensor.dims:
        raise Unclear("the shape of what 'Bilinear' is called on is not known")
    if tensor.dims[-1].samples:
        raise Impossible
    both = pointwise(run, word, Tensor((*tensor.dims[:-1], UNIT)), Tensor((*other.dims[:-1], UNIT)))
    assert both.dims is not None
    return Tensor((*both.dims[:-1], Dim(size_at(made, "out_features", 2))))


def embedding(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """A new axis behind the others."""
    if tensor.places:
        raise Mixed("its values depend on where in the batch a sample stands", "count")
    if made.get("max_norm", 3) not in (None, NONE):
        raise Unclear("an embedding with max_norm changes its weight")
    return Tensor((*(tensor.dims or ()), Dim(size_at(made, "embedding_dim", 1))))


def embedding_bag(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """The sum of the embeddings of each row."""
    if len(tensor.dims or ()) != 2 or len(given.items) > 1 or given.keywords:
        raise Unclear("rows of different lengths lie one behind the other")
    assert tensor.dims is not None
    if tensor.dims[1].samples:
        raise Mixed("'EmbeddingBag' adds up the samples of the batch")
    return Tensor((tensor.dims[0], Dim(size_at(made, "embedding_dim", 1))))


def normalised(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Statistics over the last axes."""
    shape = made.get("normalized_shape", 0)
    count = len(shape.elements) if isinstance(shape, Group) and shape.rest is None else 1
    if len(tensor.dims or ()) < count:
        raise Impossible
    if any(dim.samples for dim in (tensor.dims or ())[-count:]):
        raise Impossible
    return tensor


def group_norm(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Statistics over groups of channels and all that lies behind them."""
    dims = tensor.dims or ()
    if len(dims) < 2:
        raise Impossible
    if sample_axis(dims) == 1:
        raise Impossible
    if (sample_axis(dims) or 0) > 1:
        raise Mixed(f"'{word}' goes along the samples of the batch")
    return tensor


def softmax(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Softmax as a layer."""
    names = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Softmin": "softmin"}
    chosen = made.get("dim", 0)
    keywords = {} if chosen is None else {"dim": chosen}
    bound = Bound(run, names[word], Given((tensor,), keywords), "input dim")
    return KINDS["implicit_softmax"](bound)


def channel_softmax(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Softmax over channels."""
    dims = tensor.dims or ()
    if len(dims) not in (3, 4):
        raise Impossible
    if dims[-3].samples:
        raise Mixed(f"'{word}' goes along the samples of the batch")
    return tensor


def glu(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Half of an axis gates the other half."""
    keywords = {"dim": made.get("dim", 0) or Constant(-1)}
    return KINDS["along"](Bound(run, "glu", Given((tensor,), keywords), "input dim"))


def flatten(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Neighbouring axes as one, the first left alone."""
    keywords = {
        "start_dim": made.get("start_dim", 0) or Constant(1),
        "end_dim": made.get("end_dim", 1) or Constant(-1),
    }
    bound = Bound(run, "flatten", Given((tensor,), keywords), "input start_dim end_dim")
    return KINDS["flattens"](bound)


def unflatten(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """One axis as several."""
    bound = Bound(run, "unflatten", Given((tensor, *made.items), made.keywords), "input dim sizes")
    if "unflattened_size" in made.keywords:
        bound.values["sizes"] = made.keywords["unflattened_size"]
    return KINDS["unflattens"](bound)


def last_three(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Channels become places, or the other way round."""
    dims = tensor.dims or ()
    if len(dims) < 3:
        raise Impossible
    if any(dim.samples for dim in dims[-3:]):
        raise Mixed(f"'{word}' goes along the samples of the batch")
    return Tensor((*dims[:-3], LENGTH, LENGTH, LENGTH))


def upsampled(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Images become larger."""
    dims = tensor.dims or ()
    if len(dims) < 3:
        raise Impossible
    if any(dim.samples for dim in dims[2:]):
        raise Mixed(f"'{word}' goes along the samples of the batch")
    return Tensor((*dims[:2], *((LENGTH,) * (len(dims) - 2))))


def folded(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Patches of images."""
    dims = tensor.dims or ()
    ranks = (3, 4) if word == "Unfold" else (2, 3)
    if len(dims) not in ranks:
        raise Impossible
    if sample_axis(dims) not in (None, 0) or len(dims) != ranks[1]:
        raise Impossible
    return Tensor((dims[0], *((LENGTH,) * (2 if word == "Unfold" else 3))))


def compared(run: Running, word: str, tensor: Tensor, made: Given, given: Given) -> Known:
    """Two tensors along an axis."""
    name = "cosine_similarity" if word == "CosineSimilarity" else "pairwise_distance"
    keywords = {"dim": made.get("dim", 0)} if made.get("dim", 0) is not None else {}
    if word == "PairwiseDistance":
        keywords = {}
    signature = "input other p eps keepdim" if word == "PairwiseDistance" else "input other dim"
    from transpile.rows.products import PRODUCTS

    items = (tensor, *given.items[1:])
    return PRODUCTS["similarities"](Bound(run, name, Given(items, keywords), signature))  # type: ignore[arg-type]


HANDLERS = {
    "Linear": linear, "LazyLinear": linear, "NonDynamicallyQuantizableLinear": linear,
    "Bilinear": bilinear, "Embedding": embedding, "EmbeddingBag": embedding_bag,
    "LayerNorm": normalised, "RMSNorm": normalised, "GroupNorm": group_norm,
    "LocalResponseNorm": group_norm, "CrossMapLRN2d": group_norm, "Softmax": softmax,
    "LogSoftmax": softmax, "Softmin": softmax, "Softmax2d": channel_softmax, "GLU": glu,
    "Flatten": flatten, "Unflatten": unflatten, "PixelShuffle": last_three,
    "PixelUnshuffle": last_three, "ChannelShuffle": group_norm, "Upsample": upsampled,
    "UpsamplingNearest2d": upsampled, "UpsamplingBilinear2d": upsampled, "Fold": folded,
    "Unfold": folded, "CosineSimilarity": compared, "PairwiseDistance": compared,
}  # fmt: skip


# Sequences.


# Chains.


def chain(run: Running, layer: Value, made: Given, given: Given) -> Known:
    """Layers one behind the other."""
    result = given.items[0] if given.items else NONE
    layers, rest = layers_of(run, layer, made)
    for one in layers:
        result = run.call(one, Given((result,)))
    if rest is not None:
        for _ in range(4):
            after = choice(result, run.call(rest, Given((result,))))
            if after == result:
                break
            result = after
        else:
            return run.unknown("a chain of layers of unknown length does not settle", "layout")
    return result


def layers_of(run: Running, layer: Value, made: Given) -> tuple[list[Known], Known | None]:
    """The layers of a chain, and others that may come behind them."""
    found: list[Known] = []
    rest: list[Known] = []
    for item in made.items:
        held = run.held(item)
        if isinstance(held, Record):
            found.extend(value for _, value in held.entries)
            rest.extend([held.rest] if held.rest is not None else [])
        elif isinstance(held, Group):
            for element in held.elements:
                pair = run.held(element)
                named = isinstance(pair, Group) and len(pair.elements) == 2
                found.append(pair.elements[1] if named else element)  # type: ignore[union-attr]
            if held.rest is not None:
                pair = run.held(held.rest)
                named = isinstance(pair, Group) and len(pair.elements) == 2
                rest.append(pair.elements[1] if named else held.rest)  # type: ignore[union-attr]
        else:
            found.append(item)
    if made.more and found:
        rest.append(found.pop())
    more = put_in(run.facts, layer)
    if more:
        rest.append(run.lift(more))
    return found, choice(*rest) if rest else None
