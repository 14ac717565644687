"""Functions of torch whose result is told by their arguments: measures, masks and weights."""

from __future__ import annotations

from transpile.facts.values import (
    Constant,
    Opaque,
)
from transpile.plan.graph import called_names, origin
from transpile.rows.bound import Bound, arithmetic, number_of, size_number
from transpile.rows.domain import (
    LENGTH,
    NONE,
    PLAIN,
    Group,
    Held,
    Known,
    Record,
    Tensor,
    choice,
)
from transpile.rows.items import item_of_container
from transpile.rows.kept import put_in
from transpile.rows.shapes import Impossible, Mixed, Unclear, sample_axis
from transpile.rows.state import Given, Running

from .layers import CONTAINERS
from .modules import layers_of
from .pointwise import SAME


def is_dict_of_layers(held: Held) -> bool:
    """Whether objects are dicts of layers."""
    names = [name for value in held.values for name in called_names(origin(value))]
    return bool(names) and all(name == "torch.nn.ModuleDict" for name in names)


def deviation_signature(given: Given) -> str:
    """The parameters of ``std`` and ``var``: ``unbiased`` may come first."""
    if len(given.items) == 2 and isinstance(given.items[1], Constant):
        if isinstance(given.items[1].value, bool):
            return "input unbiased"
    return "input dim unbiased keepdim"


def masked(word: str, found: Known, run: Running, given: Given) -> Known:
    """What keeps the entries of its first tensor keeps them true or false."""
    if word in ("bool", "bitwise_and", "bitwise_or", "bitwise_not") and isinstance(found, Tensor):
        return Tensor(found.dims, found.places, found.drawn, mask=True)
    if (
        word in SAME
        and isinstance(found, Tensor)
        and word not in ("bool", "to", "cuda", "cpu", "contiguous", "clone", "detach")
    ):
        return Tensor(found.dims, found.places, found.drawn)
    return found


def measure(tensor: Tensor, word: str, given: Given) -> Known:
    """Sizes of a tensor."""
    if word in ("dim", "ndimension"):
        return PLAIN if tensor.dims is None else Constant(len(tensor.dims))
    if tensor.dims is None:
        chosen = given.get("dim", 0)
        return PLAIN if chosen is not None or word != "size" else Group((), PLAIN)
    sizes = tuple(
        size_number(
            (
                None
                if dim.doubt or dim.size is None or dim.outer is None
                else dim.size.times(dim.outer)
            ),
            dim.samples,
        )
        for dim in tensor.dims
    )
    if word in ("nelement", "numel"):
        total: Known = Constant(1)
        for one in sizes:
            total = arithmetic("Multiply", total, one)
        return total
    if word == "__len__":
        return sizes[0] if sizes else PLAIN
    chosen = given.get("dim", 0)
    if chosen is None:
        return Group(sizes)
    if isinstance(chosen, Constant) and isinstance(chosen.value, int):
        if not -len(sizes) <= chosen.value < len(sizes):
            raise Impossible
        return sizes[chosen.value]
    return choice(*sizes)


def weights(run: Running, base: Held, word: str) -> Known:
    """A parameter of a layer, or one of its settings."""
    if word == "training":
        return PLAIN
    if word.endswith("features"):
        for value in base.values:
            if isinstance(value, Opaque):
                made = run.lifted_arguments(value.arguments)
                found = made.get(word, 0 if word == "in_features" else 1)
                if isinstance(found, Constant):
                    return found
        return PLAIN
    for value in base.values:
        for name in called_names(value):
            kind = name.rpartition(".")[2]
            made = run.lifted_arguments(value.arguments) if isinstance(value, Opaque) else Given()
            if kind in ("Linear", "Embedding"):
                sizes = [number_of(made.get("", place) or NONE).size for place in (0, 1)]
                from transpile.rows.domain import Dim

                if kind == "Embedding":
                    return Tensor((Dim(sizes[0]), Dim(sizes[1])))
                return Tensor(
                    (Dim(sizes[1]),) if word == "bias" else (Dim(sizes[1]), Dim(sizes[0]))
                )
            if kind in ("LayerNorm", "BatchNorm1d", "BatchNorm2d"):
                return Tensor((LENGTH,))
    return Tensor(None)


def method_of_object(run: Running, held: Held, word: str, given: Given) -> Known | None:
    """A method of a layer, or of something that a library made."""
    layers = [value for value in held.values if called_names(origin(value))]
    names = {name.rpartition(".")[2] for value in layers for name in called_names(origin(value))}
    if word in ("values", "items", "children") and names & {*CONTAINERS, "Sequential"}:
        for value in held.values:
            layer = origin(value)
            if isinstance(layer, Opaque):
                found, rest = layers_of(run, layer, run.lifted_arguments(layer.arguments))
                if word == "items":
                    return Group(tuple(Group((PLAIN, one)) for one in found),
                                 Group((PLAIN, rest)) if rest is not None else None)  # fmt: skip
                return Group(tuple(found), rest)
    if word in ("train", "eval", "requires_grad_", "to", "cuda", "float", "double", "half"):
        return held
    if word in ("flatten_parameters", "parameters", "named_parameters", "buffers", "modules",
                "named_modules", "state_dict", "zero_grad", "keys", "register_buffer",
                "apply"):  # fmt: skip
        return PLAIN
    if word in ("children", "named_children"):
        return None
    return None


def item_of_layers(run: Running, held: Held, index: tuple[Known, ...]) -> Known:
    """An entry of a container of layers, or of a setting."""
    found: list[Known] = []
    for value in held.values:
        layer = origin(value)
        word = next((name.rpartition(".")[2] for name in called_names(layer)), "")
        if isinstance(layer, Opaque) and word in (*CONTAINERS, "Sequential"):
            made = run.lifted_arguments(layer.arguments)
            if word == "ModuleDict" and made.items:
                first = run.held(made.items[0])
                if isinstance(first, Record):
                    found.append(item_of_container(run, first, index))
                    continue
            layers, rest = layers_of(run, layer, made)
            picked_one = item_of_container(run, Group(tuple(layers), rest), index)
            if isinstance(picked_one, Group) and word == "Sequential":
                return run.unknown("a part of a chain of layers is taken", "layout")
            found.append(picked_one)
        elif isinstance(layer, Opaque):
            found.append(Held((Opaque("item", layer.node, layer.module, operands=((layer,),)),)))
        elif put_in(run.facts, layer):
            found.append(run.lift(put_in(run.facts, layer)))
        else:
            found.append(PLAIN)
    return choice(*found)


def sequences(run: Running, word: str, given: Given) -> Known | None:
    """Sequences of different lengths."""
    if word == "pack_padded_sequence":
        bound = Bound(run, word, given, "input lengths batch_first enforce_sorted")
        tensor = bound.tensor("input")
        first = bound.flag("batch_first")
        if first is None or tensor.dims is None or len(tensor.dims) < 2:
            raise Unclear("where the samples of a packed sequence stand is not known")
        if sample_axis(tensor.dims) != (0 if first else 1):
            raise Mixed("'pack_padded_sequence' takes the samples for time")
        return Record((("packed", tensor),))
    if word == "pad_packed_sequence":
        bound = Bound(run, word, given, "input batch_first padding_value total_length")
        packed = bound.get("input")
        inner = packed.get("packed") if isinstance(packed, Record) else None
        if isinstance(inner, Tensor) and bound.get("total_length") not in (None, NONE):
            return Group((inner, Tensor((inner.dims[inner.axis or 0],) if inner.dims else None)))
        raise Mixed("sequences are padded to the longest of the batch", "padding")
    return None
