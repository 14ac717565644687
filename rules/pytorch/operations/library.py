"""PyTorch as the solver of rows sees it: its operations, layers and tensors."""

from __future__ import annotations

from transpile.facts.values import (
    BoundMethod,
    Constant,
    Function,
    Instance,
    Opaque,
    Partial,
    Value,
)
from transpile.plan.graph import called_names, origin
from transpile.rows.bound import Bound, arithmetic, number_of, pointwise, size_number, tensor_of
from transpile.rows.domain import (
    LENGTH,
    NONE,
    PLAIN,
    Cell,
    Choice,
    Coupled,
    Group,
    Held,
    Known,
    Local,
    Method,
    Number,
    Record,
    Tensor,
    Unknown,
    choice,
)
from transpile.rows.items import element, item_of_container, picked, stored
from transpile.rows.kept import put_in
from transpile.rows.kinds import KINDS
from transpile.rows.products import PRODUCTS, matrix_product
from transpile.rows.shapes import Impossible, Mixed, Unclear, sample_axis
from transpile.rows.state import Given, Running

from .axes import OPERATIONS
from .builtins_table import call_builtin, container_method
from .functional import call_functional
from .layers import CONTAINERS, LAYERS, MODELS, WRAPPERS
from .modules import call_layer, layers_of
from .pointwise import COMPARISONS, CONDITIONS, ELEMENTWISE, LOSSES, SAME

#: Where the functions of the table stand.
PACKAGES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "math",
            "torch.Tensor", "numpy")  # fmt: skip
SIGNATURE = "input other third fourth"


class TorchLibrary:
    """PyTorch's operations."""

    def function(self, run: Running, name: str, given: Given) -> Known | None:
        """What a call of something outside the project gives; None where nothing is known."""
        package, _, word = name.rpartition(".")
        if package == "builtins":
            return call_builtin(run, word, given)
        if name == "torch.nn.Parameter" or name.endswith(".nn.parameter.Parameter"):
            return given.items[0] if given.items else PLAIN
        if name in ("copy.deepcopy", "copy.copy") and given.items:
            return given.items[0]
        if name.startswith("torch.utils.checkpoint.checkpoint") and given.items:
            return run.call(given.items[0], Given(given.items[1:]))
        if name == "torch.nn.parallel.data_parallel" and len(given.items) > 1:
            return run.call(given.items[0], Given(given.items[1:2]))
        if package == "random" or name.startswith("numpy.random."):
            run.noise = True
            return Number(drawn=True)
        if package == "torch.nn.utils.rnn":
            return sequences(run, word, given)
        if self.is_layer((name,)):
            if name in WRAPPERS:
                return given.items[0]
            return run.unknown(f"the layer '{name}' is made where the model is called")
        if package not in PACKAGES:
            return None
        if package in ("torch", "torch.nn.functional"):
            found = call_functional(run, word, given)
            if found is not None:
                return found
        return self.operation(run, word, given)

    def operation(self, run: Running, word: str, given: Given) -> Known | None:
        """An operation of the table, on each alternative of its arguments."""
        names = list(given.keywords)
        count = len(given.items)
        if self.kind_of(word) is None:
            return None

        def one(*values: Known) -> Known:
            keywords = dict(zip(names, values[count:], strict=True))
            return self.apply_kind(run, word, Given(values[:count], keywords, given.more))

        return run.apply(one, *given.items, *given.keywords.values())

    def kind_of(self, word: str) -> str | None:
        """The kind of an operation, if it is known."""
        if word.endswith("_") and not word.endswith("__"):
            word = word[:-1]
        if word in OPERATIONS:
            return OPERATIONS[word][0]
        if word in SAME:
            return "first"
        if word in ELEMENTWISE:
            return "elementwise"
        if word in CONDITIONS:
            return "condition"
        if word in LOSSES:
            return "loss"
        return None

    def apply_kind(self, run: Running, word: str, given: Given) -> Known:
        """An operation on known arguments."""
        kind = self.kind_of(word)
        assert kind is not None
        plain = word[:-1] if word.endswith("_") and not word.endswith("__") else word
        if kind == "loss":
            from .losses import loss

            return loss(run, plain, Given(), given)
        signature = OPERATIONS[plain][1] if plain in OPERATIONS else SIGNATURE
        if kind in ("elementwise", "condition") and all(
            not isinstance(run.held(one), (Tensor, Held, Group)) for one in given.every()
        ):
            several = list(given.items)
            return arithmetic(plain, several[0], several[-1]) if several else PLAIN
        function = KINDS.get(kind) or PRODUCTS.get(kind)
        assert function is not None
        if plain == "var" or plain == "std":
            signature = deviation_signature(given)
        found = function(Bound(run, plain, given, signature))
        return masked(plain, found, run, given)

    def method(self, run: Running, base: Known, word: str, given: Given) -> Known | None:
        """What a method of a tensor, number, list, dict or string gives."""
        held = run.held(base)
        if isinstance(base, Cell) or isinstance(held, (Group, Record)):
            return container_method(run, base, word, given)
        if isinstance(held, Held):
            return method_of_object(run, held, word, given)
        if isinstance(held, (Number, Constant)):
            if isinstance(held, Number) and (held.samples or held.counted):
                return Number(counted=True, drawn=held.drawn)
            return Number(drawn=True) if isinstance(held, Number) and held.drawn else PLAIN
        if not isinstance(held, Tensor):
            return None
        if word in ("size", "dim", "ndimension", "nelement", "numel", "__len__"):
            return measure(held, word, given)
        if word in ("backward", "item", "tolist", "numpy", "cpu_") and held.whole:
            if held.drawn and word != "backward":
                return Number(drawn=True) if word == "item" else held
            return PLAIN
        if word in ("item", "tolist", "numpy"):
            raise Mixed(f"'.{word}' takes the values of all samples out of the tensor")
        if word.startswith("new_"):
            return self.operation(run, word[4:], given)
        if word in IN_PLACE_NOISE:
            run.noise = True
            return Tensor(held.dims, drawn=held.whole)
        if word in FILLS:
            return held
        if word == "where":
            pass
        with_base = Given((base, *given.items), given.keywords, given.more)
        if word.endswith("_") and not word.endswith("__"):
            return self.in_place(run, held, word, with_base)
        if self.kind_of(word) is None:
            return None
        return self.operation(run, word, with_base)

    def in_place(self, run: Running, base: Tensor, word: str, given: Given) -> Known | None:
        """A method that writes over the tensor that it belongs to."""
        if word == "copy_" and len(given.items) > 1:
            found: Known | None = choice(
                *(pointwise(run, word, base, one) for one in run.attempt(given.items[1]))
            )
        elif self.kind_of(word) is None:
            return None
        else:
            found = self.operation(run, word, given)
        if base.whole and found is not None and run.sampled(found):
            raise Mixed("samples are written into a tensor that has none of its own", "state")
        return found

    def attribute(self, run: Running, base: Known, word: str) -> Known | None:
        """What an attribute of a tensor, or of a layer, is."""
        if isinstance(base, Tensor):
            if word == "shape":
                return measure(base, "size", Given())
            if word in ("T", "mT", "H", "mH"):
                return KINDS["transposes"](Bound(run, word, Given((base,)), "input"))
            if word in ("data", "real", "imag", "grad"):
                return base
            if word == "ndim":
                return measure(base, "dim", Given())
            if word in PLAIN_ATTRIBUTES:
                return PLAIN
        if isinstance(base, Held) and is_dict_of_layers(base) and word not in DICT_METHODS:
            return item_of_layers(run, base, (Constant(word),))
        if isinstance(base, Held) and word in ("weight", "bias", "in_features", "out_features",
                                               "running_mean", "running_var", "training",
                                               "in_proj_weight", "weight_ih_l0"):  # fmt: skip
            return weights(run, base, word)
        return None

    def layer(
        self, run: Running, names: tuple[str, ...], layer: Value, made: Given, given: Given
    ) -> Known | None:
        """What a call of a library's object gives, by the names of what made it."""
        replaced = layer.attributes if isinstance(layer, Opaque) else {}
        for word, values in replaced.items():
            if any(isinstance(origin(one), REPLACING) for one in values):
                return run.unknown(f"the model's '{word}' is replaced by a layer of the script")
        found = [call_layer(run, name, layer, made, given) for name in names]
        known = [one for one in found if one is not None]
        return choice(*known) if len(known) == len(found) and known else None

    def operator(self, run: Running, word: str, operands: tuple[Known, ...]) -> Known:
        """What an operator gives."""
        if any(isinstance(one, (Coupled, Unknown)) for one in operands):
            return choice(*(one for one in operands if isinstance(one, (Coupled, Unknown))))
        tensors = any(isinstance(one, (Tensor, Input_)) for one in operands)
        if not tensors:
            if all(isinstance(one, (Number, Constant)) for one in operands) and len(operands) == 2:
                return arithmetic(word, *operands)
            numbers = [number_of(one) for one in operands]
            if any(run.sampled(one) for one in operands):
                raise Unclear("what is done to a list of samples is not known")
            return Number(
                counted=any(one.counted or one.samples for one in numbers),
                drawn=any(one.drawn for one in numbers),
            )
        if word == "MatrixMultiply":
            return matrix_product(tensor_of(run, operands[0]), tensor_of(run, operands[1]))
        found = pointwise(run, word, *operands)
        if word in COMPARISONS or " " in word:
            return Tensor(found.dims, found.places, found.drawn, mask=True)
        if word in ("BitAnd", "BitOr", "BitInvert", "BitXor", "And", "Or"):
            mask = any(isinstance(one, Tensor) and one.mask for one in operands)
            return Tensor(found.dims, found.places, found.drawn, mask)
        return found

    def item(self, run: Running, base: Known, index: tuple[Known, ...]) -> Known:
        """What ``base[index]`` gives."""
        held = run.held(base)
        if isinstance(held, (Group, Record)):
            return item_of_container(run, held, index)
        if isinstance(held, Tensor):
            return picked(run, held, index)
        if isinstance(held, Held):
            return item_of_layers(run, held, index)
        if isinstance(held, Constant):
            if held.value is None:
                raise Impossible
            return PLAIN
        return PLAIN

    def element(self, run: Running, base: Known) -> Known:
        """What iterating over a tensor gives."""
        assert isinstance(base, Tensor)
        try:
            return element(base)
        except Unclear as unclear:
            return run.unknown(unclear.reason, unclear.cause)

    def store(self, run: Running, base: Known, index: tuple[Known, ...], value: Known) -> None:
        """What ``base[index] = value`` does to a tensor."""
        assert isinstance(base, Tensor)
        for option in run.attempt(value):
            try:
                stored(run, base, index, option)
            except Mixed as mixed:
                run.problems.append(run.coupled(mixed.reason, mixed.cause))
            except Unclear as unclear:
                run.problems.append(run.unknown(unclear.reason, unclear.cause))

    def is_layer(self, names: tuple[str, ...]) -> bool:
        """Whether what makes an object makes a layer, by its names."""
        return any(
            name in WRAPPERS
            or name.startswith(MODELS)
            or (name.startswith("torch.nn.") and name.rpartition(".")[2] in LAYERS
                and not name.startswith("torch.nn.functional"))
            or name in ("torchvision.ops.StochasticDepth",)
            for name in names
        )  # fmt: skip

    def elements(self, run: Running, container: Value) -> tuple[list[Known], Known | None] | None:
        """The layers in a container of layers, and what else may be in it."""
        if isinstance(container, Opaque):
            layer = origin(container)
            if not isinstance(layer, Opaque):
                return None
            for name in called_names(layer):
                word = name.rpartition(".")[2]
                if word in ("ModuleDict",) or word not in (*CONTAINERS, "Sequential"):
                    continue
                return layers_of(run, layer, run.lifted_arguments(layer.arguments))
        return None


DICT_METHODS = frozenset({"keys", "values", "items", "update", "pop", "forward"})


def is_dict_of_layers(held: Held) -> bool:
    """Whether objects are dicts of layers."""
    names = [name for value in held.values for name in called_names(origin(value))]
    return bool(names) and all(name == "torch.nn.ModuleDict" for name in names)


#: What the script puts in the place of a part of a library's layer.
REPLACING = (Instance, Function, BoundMethod, Partial)


class Input_:
    """No value: inputs are settled before operators see them."""


IN_PLACE_NOISE = frozenset({"normal_", "uniform_", "bernoulli_", "random_", "exponential_"})
FILLS = frozenset({"zero_", "fill_", "requires_grad_", "retain_grad", "detach_"})
PLAIN_ATTRIBUTES = frozenset(
    {"dtype", "device", "is_cuda", "requires_grad", "layout", "is_leaf", "grad_fn", "itemsize",
     "names", "is_sparse", "is_nested"}
)  # fmt: skip


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


__all__ = ["Choice", "Local", "Method", "TorchLibrary"]
