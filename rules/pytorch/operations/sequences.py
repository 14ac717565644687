"""What layers of sequences give: recurrent ones, cells, attention and transformers."""

from __future__ import annotations

from transpile.facts.values import Constant, Opaque
from transpile.plan.graph import called_names, origin
from transpile.rows.bound import Bound, number_of, tensor_of
from transpile.rows.domain import (
    LENGTH,
    NONE,
    Coupled,
    Dim,
    Factor,
    Group,
    Held,
    Known,
    Record,
    Tensor,
    choice,
)
from transpile.rows.shapes import Dims, Impossible, Mixed, Unclear, sample_axis
from transpile.rows.state import Given, Running

from .layers import (
    BATCH_FIRST,
    CELLS,
    RECURRENT,
    TRANSFORMERS,
)

OTHER_TIME = "'{}' takes the samples for time"
TIME = "batch_first is not set, so that the layer takes the samples for time"


def size_at(made: Given, name: str, place: int) -> Factor | None:
    """A size among the arguments of a layer."""
    found = made.get(name, place)
    return number_of(found).size if found is not None else None


def batch_axis(word: str, made: Given) -> int:
    """The axis of the samples that a layer goes by: the first only where it is told so."""
    found = made.get("batch_first", BATCH_FIRST[word])
    if found is None or found == Constant(False):
        return 1
    if found == Constant(True):
        return 0
    raise Unclear("whether 'batch_first' is set is not known")


def samples_for_time(word: str) -> str:
    """What a layer does with an input of two axes, whatever ``batch_first`` says."""
    return f"'{word}' takes the samples of an input of two axes for time"


def along_time(tensor: Tensor, batch: int, word: str) -> Dims:
    """The axes of a tensor of sequences, the samples where the layer wants them."""
    dims = tensor.dims
    if dims is None:
        raise Unclear(f"the shape of what '{word}' is called on is not known")
    if len(dims) not in (2, 3):
        raise Impossible
    at = sample_axis(dims)
    if at == len(dims) - 1:
        raise Impossible
    if at is not None and (len(dims) == 2 or at != batch):
        if len(dims) == 3 and batch == 1:
            raise Mixed(TIME)
        raise Mixed(samples_for_time(word) if len(dims) == 2 else OTHER_TIME.format(word))
    return dims


def recurrent(run: Running, word: str, made: Given, given: Given) -> Known:
    """A recurrent layer: what it gives for each time, and its last states."""
    first = given.items[0]
    packed = first.get("packed") if isinstance(first, Record) else None
    tensor = tensor_of(run, packed if packed is not None else first)
    batch = batch_axis(word, made) if packed is None else sample_axis(tensor.dims or ()) or 0
    if tensor.dims is not None and len(tensor.dims) == 2 and sample_axis(tensor.dims) == 0:
        return unbatched(run, word, given)
    dims = along_time(tensor, batch, word)
    hidden = size_at(made, "hidden_size", 1)
    twice = {None: 1, Constant(False): 1, Constant(True): 2}.get(
        made.get("bidirectional", 7 if word == "RNN" else 6)  # type: ignore[arg-type]
    )
    projected = made.get("proj_size", 7)
    if hidden is None or twice is None or projected not in (None, Constant(0)):
        out = LENGTH
    else:
        out = Dim(hidden.times(Factor(twice)))
    if given.items[1:] or "hx" in given.keywords:
        check_state(run, given.items[1] if len(given.items) > 1 else given.keywords["hx"], dims)
    if dropped(made):
        run.noise = True
    result = Tensor((*dims[:-1], out))
    sample = dims[batch] if len(dims) == 3 else None
    state = Tensor((LENGTH, sample, LENGTH) if sample is not None else (LENGTH, LENGTH))
    pair: Known = Group((state, state)) if RECURRENT[word] else state
    made_of = Record((("packed", result),)) if packed is not None else result
    return Group((made_of, pair))


def unbatched(run: Running, word: str, given: Given) -> Known:
    """What a layer gives for what it takes for one sequence, whose times are the samples."""
    states = [*given.items[1:2], *([given.keywords["hx"]] if "hx" in given.keywords else [])]
    for state in states:
        for part in run.deep(state):
            if isinstance(part, Tensor) and part.dims is not None and len(part.dims) != 2:
                raise Impossible
    reason = samples_for_time(word)
    made = Coupled(reason, *run.site, "samples", 2)
    state_of = Group((made, made)) if RECURRENT[word] else made
    return Group((made, state_of))


def dropped(made: Given) -> bool:
    """Whether a layer has dropout."""
    found = made.get("dropout", None)
    return found is not None and found not in (Constant(0), Constant(0.0))


def check_state(run: Running, state: Known, dims: Dims) -> None:
    """The states that a recurrent layer begins with belong to the samples."""
    for part in run.deep(state):
        if part == NONE:
            continue
        tensor = tensor_of(run, part)
        if tensor.dims is None:
            raise Unclear("the shape of the first states is not known")
        if len(tensor.dims) != len(dims):
            raise Impossible
        at = sample_axis(tensor.dims)
        sampled = sample_axis(dims) is not None
        if sampled and at is None:
            raise Unclear("the first states are not made for each sample")
        if at is not None and (not sampled or at != len(tensor.dims) - 2):
            raise Mixed("the samples of the states stand along another axis")


def cell(run: Running, word: str, made: Given, given: Given) -> Known:
    """One step of a recurrent layer."""
    tensor = tensor_of(run, given.items[0])
    dims = tensor.dims
    if dims is None:
        raise Unclear(f"the shape of what '{word}' is called on is not known")
    if len(dims) not in (1, 2) or dims[-1].samples:
        raise Impossible
    for part in run.deep(given.items[1]) if len(given.items) > 1 else ():
        if part != NONE:
            state = tensor_of(run, part)
            if state.dims is None:
                raise Unclear("the shape of the first states is not known")
            if len(state.dims) != len(dims):
                raise Impossible
            if state.axis is not None and state.axis != sample_axis(dims):
                raise Mixed("the samples of the states stand along another axis")
            if state.axis is None and sample_axis(dims) is not None:
                raise Unclear("the first states are not made for each sample")
    result = Tensor((*dims[:-1], Dim(size_at(made, "hidden_size", 1))))
    return Group((result, result)) if CELLS[word] else result


def attention(run: Running, made: Given, given: Given) -> Known:
    """Multi-head attention."""
    word = "MultiheadAttention"
    batch = batch_axis(word, made)
    bound = Bound(run, word, given, "query key value key_padding_mask need_weights attn_mask")
    shapes = [along_time(bound.tensor(name), batch, word) for name in ("query", "key", "value")]
    if len({sample_axis(one) for one in shapes}) > 1:
        raise Unclear("queries and keys are not both made of samples")
    padding = bound.get("key_padding_mask")
    if isinstance(padding, Tensor) and padding.axis not in (None, 0):
        raise Mixed("the mask of the keys has the samples along another axis")
    if dropped(made) or made.get("dropout", 2) not in (None, Constant(0), Constant(0.0)):
        run.noise = True
    query = shapes[0]
    result = Tensor((*query[:-1], Dim(size_at(made, "embed_dim", 0))))
    if bound.get("need_weights") == Constant(False):
        return Group((result, NONE))
    sample = (query[batch],) if len(query) == 3 else ()
    weights = Tensor((*sample, LENGTH, LENGTH))
    return Group((result, choice(weights) if sample else weights))


def transformer(run: Running, word: str, made: Given, given: Given) -> Known:
    """Layers of a transformer, and stacks of them."""
    if word in ("TransformerEncoder", "TransformerDecoder"):
        inner = made.get("encoder_layer" if word == "TransformerEncoder" else "decoder_layer", 0)
        for value in inner.values if isinstance(inner, Held) else ():
            layer = origin(value)
            if not isinstance(layer, Opaque):
                return run.call(Held((layer,)), given)
            for name in called_names(layer):
                own = name.rpartition(".")[2]
                if own in TRANSFORMERS:
                    return transformer(run, own, run.lifted_arguments(layer.arguments), given)
        raise Unclear("which layers a transformer is made of is not known", "object")
    batch = batch_axis(word, made)
    tensors = [one for one in given.items if isinstance(run.settle(one), Tensor)]
    wanted = 1 if word == "TransformerEncoderLayer" else 2
    shapes = [along_time(tensor_of(run, one), batch, word) for one in tensors[:wanted]]
    if len({sample_axis(one) for one in shapes}) > 1:
        raise Unclear("queries and keys are not both made of samples")
    for name, given_mask in given.keywords.items():
        mask = run.settle(given_mask)
        if isinstance(mask, Tensor) and "padding" in name and mask.axis not in (None, 0):
            raise Mixed("the mask of the keys has the samples along another axis")
    run.noise = True
    return Tensor((*shapes[-1][:-1], Dim(size_at(made, "d_model", 0))))
