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
from transpile.rows.bound import Bound, arithmetic, number_of, pointwise, tensor_of
from transpile.rows.domain import (
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
from transpile.rows.kinds import KINDS
from transpile.rows.products import PRODUCTS, matrix_product
from transpile.rows.shapes import Impossible, Mixed, Unclear
from transpile.rows.state import Given, Running

from . import distributions
from .axes import OPERATIONS
from .builtins_table import call_builtin, container_method
from .functional import call_functional
from .layers import CONTAINERS, LAYERS, MODELS, WRAPPERS
from .measures import (
    deviation_signature,
    is_dict_of_layers,
    item_of_layers,
    masked,
    measure,
    method_of_object,
    sequences,
    weights,
)
from .modules import call_layer, layers_of
from .pointwise import COMPARISONS, CONDITIONS, ELEMENTWISE, LOSSES, SAME

#: Where the functions of the table stand.
PACKAGES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "math",
            "torch.Tensor", "numpy")  # fmt: skip
SIGNATURE = "input other third fourth"
#: Functions that give what they are given, or a copy of it.
UNCHANGED = frozenset(
    {"copy.deepcopy", "copy.copy", "torch.autograd.Variable", "torch.autograd.variable.Variable"}
)


class TorchLibrary:
    """PyTorch's operations."""

    def function(self, run: Running, name: str, given: Given) -> Known | None:
        """What a call of something outside the project gives; None where nothing is known."""
        package, _, word = name.rpartition(".")
        if package == "builtins":
            return call_builtin(run, word, given)
        if name == "torch.nn.Parameter" or name.endswith(".nn.parameter.Parameter"):
            return given.items[0] if given.items else PLAIN
        if name in UNCHANGED and given.items:
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
        if name in distributions.DIVERGENCES:
            return distributions.divergence(run, given)
        if package.startswith("torch.distributions") and word[:1].isupper():
            made = distributions.made(run, word, given)
            return made or run.unknown(f"nothing is known of '{name}'", "bundle")
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
        if isinstance(held, Record) and held.family:
            return distributions.method(run, held, word, given)
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
        """What an attribute of a tensor, of a layer or of a distribution is."""
        if isinstance(base, Record) and base.family:
            return distributions.attribute(base, word)
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


__all__ = ["Choice", "Local", "Method", "TorchLibrary"]
