"""The quantities of what calls give."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import replace

import libcst as cst

from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Partial,
    Sequence,
    Unknown,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, is_instance_of, method_calls, origin
from transpile.plan.model import Plan

from . import domain
from .domain import Duty, Kind, Pending, Quantity, WeightedLoss
from .losses import (
    AVERAGED_BY_WEIGHT,
    FUNCTIONAL,
    SIZED,
    Settings,
    Signature,
    loss_class,
    loss_function,
    settings_of,
)
from .shapes import RESHAPES, Given, integer, reshaped
from .vocabulary import (
    ADDITIONS,
    ALONG,
    BATCHED_PRODUCTS,
    CONCATENATIONS,
    CONTAINERS,
    CUTS,
    DEFAULT_DIM,
    DIM_POSITION,
    ELEMENTWISE,
    FACTORIES,
    GUARDS,
    LIKE,
    MASKS,
    MATRIX_PRODUCTS,
    MEANS,
    NEGATIONS,
    NEUTRAL_METHODS,
    NUMBERS,
    OVER_ALL,
    PAIRWISE,
    POSITIONS,
    PRODUCTS,
    QUOTIENTS,
    SAME,
    SELECTIONS,
    SIZES_ONLY,
    SPLITS,
    SUMS,
    TENSOR_TYPES,
)

#: Packages whose functions the vocabulary speaks of.
KNOWN_PACKAGES = (
    "torch.",
    "numpy.",
    "math.",
    "copy.",
    "scipy.special.",
    "torchvision.transforms.",
    "torchvision.utils.",
)
#: The number that losses of classes leave out unless they are told another one.
LEFT_OUT = re.compile(r"(?<![\w.)\]])-100(?![\w.%])")
BUILTIN_NUMBERS = frozenset({"float", "int", "round", "complex"})
#: Layers that give several tensors.
SEVERAL = frozenset(
    {"RNN", "LSTM", "GRU", "LSTMCell", "MultiheadAttention", "AdaptiveLogSoftmaxWithLoss"}
)
#: Attributes of layers that are tensors.
TENSOR_ATTRIBUTES = frozenset({"weight", "bias", "data", "grad", "pos_weight"})
#: Library prefixes whose objects are models.
MODEL_PACKAGES = ("torchvision.models.", "torch.hub.", "timm.", "transformers.", "torch.jit.",
                  "torch.compile", "segmentation_models_pytorch.")  # fmt: skip


class Calls(ABC):
    """The part of the analysis that knows calls."""

    def __init__(self, plan: Plan, whole: bool = False) -> None:
        self.plan = plan
        self.whole = whole
        self.models: set[int] = set()
        self.reductions = find_reductions(plan)
        self.batch_sizes = {
            id(value)
            for loader in plan.training_loaders
            for argument in (loader.argument("batch_size"),)
            if argument is not None
            for value in argument.values
            if isinstance(value, Opaque)
        }
        self.marks_left_out = any(
            LEFT_OUT.search(module.source.text) for module in plan.facts.modules.values()
        )

    @abstractmethod
    def look(self, values: Values) -> Quantity:
        """The quantity of alternatives, as far as it is settled."""

    @abstractmethod
    def counted(self, tensor: Quantity, position: int | None) -> Quantity:
        """The size of a tensor along a dimension, or its number of elements (None)."""

    @abstractmethod
    def batch_of(self, value: Value) -> bool | None:
        """Whether a value is a batch of a training loader (True) or another (False); else None."""

    # Dispatch.

    def call(self, value: Opaque) -> Quantity:
        """What a call gives, over all that may be called."""
        callees = value.callee
        if any(isinstance(one, Unknown) for one in callees):
            # Too many models to choose from are still models.
            models = tuple(one for one in callees if self.is_layer(origin(one)))
            callees = models or callees
        found = domain.NOTHING
        for callee in callees:
            found = domain.join(found, self.call_one(value, callee))
        return found

    def call_one(self, value: Opaque, callee: Value) -> Quantity:
        """What a call of one alternative gives."""
        if isinstance(callee, External):
            return self.external(value, callee.name)
        if isinstance(callee, Instance):
            return self.instance(value, callee)
        if isinstance(callee, (BoundMethod, Function, Partial)):
            return (
                self.look(value.inner) if value.inner else self.nothing_known(value, "a function")
            )
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return self.method(value, callee)
        if isinstance(callee, Opaque):
            return self.object(value, callee)
        return self.nothing_known(value, "what is called")

    def given(self, value: Opaque) -> list[Quantity]:
        """The quantities of all arguments."""
        return [self.look(argument.values) for argument in value.arguments.items]

    def nothing_known(self, value: Opaque, what: str) -> Quantity:
        """What something gives that cannot be looked into."""
        given = self.given(value)
        if all(one.independent for one in given):
            return domain.equal(gradient=any(one.gradient for one in given))
        found = domain.unknown_among(*given)
        if found is not None:
            return found
        return domain.unknown(f"nothing is known of {what}")

    def gathered(self, several: list[Quantity]) -> Quantity:
        """Several values in one text or container."""
        return domain.nonlinear("the text", *several)

    # Models and other objects.

    def instance(self, value: Opaque, callee: Instance) -> Quantity:
        """A call of an object of a project class."""
        found = self.look(value.inner)
        if not value.inner or id(callee.cls.node) in self.known_models():
            return self.from_model(found, value)
        return found

    @abstractmethod
    def known_models(self) -> set[int]:
        """The class definitions of models."""

    def from_model(self, inside: Quantity, value: Opaque) -> Quantity:
        """What a model gives, from what its code returns and what it was given."""
        if inside.kind is Kind.PART or (inside.kind is Kind.UNKNOWN and inside.whole):
            return inside
        if inside.kind is Kind.UNKNOWN and inside.certain:
            return inside
        source = value.operands[0][0] if value.kind == "item" else value
        given = self.given(source) if isinstance(source, Opaque) else []
        unknown = next((one for one in given if one.kind is Kind.UNKNOWN), None)
        if unknown is not None and unknown.certain:
            return unknown
        if inside.kind is Kind.SAMPLE:
            return replace(inside, dim=inside.dim or 0, coupled=False)
        samples = [one for one in given if one.kind is Kind.SAMPLE]
        if samples:
            selection = any(one.selection for one in samples)
            return replace(domain.sample(gradient=True), selection=selection)
        for one in given:
            if one.kind is Kind.UNKNOWN:
                return one
            if one.kind is Kind.PART:
                return domain.unknown(domain.STATISTIC)
        return domain.equal(gradient=True)

    def object(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of an object that a library made."""
        behind = origin(callee)
        for name in called_names(behind):
            signature = loss_class(name)
            if signature is not None and isinstance(behind, Opaque):
                return self.loss(value, signature, behind)
        if self.is_layer(behind):
            return self.from_model(domain.NOTHING, value)
        names = called_names(behind)
        if any(name.endswith(".namedtuple") for name in names):
            found = domain.NOTHING
            for one in self.given(value):
                found = domain.join(found, one)
            return found
        return self.nothing_known(value, names[0] if names else "what is called")

    def is_layer(self, value: Value) -> bool:
        """Whether an object is a model, or a part of one."""
        for _ in range(20):
            if id(value) in self.models or is_instance_of(value, self.plan.table.module_bases):
                return True
            if not isinstance(value, Opaque):
                return False
            for name in called_names(value):
                if name.startswith((*self.plan.table.layer_packages, *MODEL_PACKAGES)):
                    return not name.startswith(FUNCTIONAL)
            if called_names(value) and called_names(value)[0].startswith("copy."):
                first = value.arguments.get("x", 0)
                if first is not None and first.values:
                    value = origin(first.values[0])
                    continue
            if value.kind == "attribute" and value.name in TENSOR_ATTRIBUTES:
                return False
            if value.kind in ("attribute", "item", "element") and value.operands[0]:
                value = origin(value.operands[0][0])
                continue
            received = method_calls(value)
            if received and received[0][1]:
                value = origin(received[0][1][0])
                continue
            return False
        return False

    def is_model_call(self, values: Values) -> bool:
        """Whether values are what a model gives."""
        for value in values:
            if isinstance(value, Opaque) and value.kind == "call":
                if any(self.is_layer(origin(callee)) for callee in value.callee):
                    return True
        return False

    def gives_several(self, value: Value) -> bool:
        """Whether a call gives a tuple of tensors, or may do so."""
        if self.is_model_call((value,)) and isinstance(value, Opaque):
            return self.model_gives_several(value)
        names = [*called_names(value), *(name for name, _ in method_calls(value))]
        for callee in value.callee if isinstance(value, Opaque) else ():
            names.extend(called_names(callee))
        several = {
            "max", "min", "sort", "topk", "median", "mode", "kthvalue", "std_mean", "var_mean",
            "grad", "pad_packed_sequence", "pack_padded_sequence", "where", "meshgrid", "unique",
            "size", "namedtuple",
        }  # fmt: skip
        for name in names:
            word = name.rpartition(".")[2]
            if word in several or word in SPLITS:
                return True
        return False

    def model_gives_several(self, value: Opaque) -> bool:
        """Whether a model gives several tensors, or may do so."""
        if value.inner:
            return any(
                isinstance(one, (Sequence, Mapping, Instance)) or self.gives_several(one)
                for one in value.inner
            )
        for callee in value.callee:
            for name in called_names(origin(callee)):
                package, _, word = name.rpartition(".")
                if package == "torch.nn" and word not in SEVERAL and word not in CONTAINERS:
                    return False
        return True

    # Losses.

    def loss(self, value: Opaque, signature: Signature, source: Opaque) -> Quantity:
        """What a loss gives.

        Args:
            value: the call on tensors.
            signature: the loss.
            source: the call that sets it up: the same, or the one that made the object.
        """
        setup = settings_of(
            signature,
            source.arguments,
            source is value,
            source.attributes if source is not value else None,
        )
        names = ("input", "target") if signature.inputs == 2 else ()
        tensors = []
        for position in range(signature.inputs):
            name = names[position] if position < len(names) else f"#{position}"
            found = value.arguments.get(name, position)
            if found is not None:
                tensors.append(self.look(found.values))
        if not tensors:
            tensors = self.given(value)
        each = domain.nonlinear(f"the loss {signature.function}", *tensors)
        if setup.reduction is None:
            return domain.unknown(f"the reduction of {signature.function} is not known", whole=True)
        if each.kind is Kind.UNKNOWN or setup.reduction == "none":
            return replace(each, whole=setup.reduction != "none" or each.whole)
        if each.kind is not Kind.SAMPLE:
            return each
        if setup.reduction == "sum":
            return domain.total(each)
        if signature.function in AVERAGED_BY_WEIGHT and (
            setup.weight is not False or setup.ignore_index or self.marks_left_out
        ):
            return self.weighted_loss(value, signature, source, setup)
        if each.selection and signature.function in SIZED and setup.weight is False:
            return self.weighted_loss(value, signature, source, setup)
        return domain.average(each)

    def weighted_loss(
        self,
        value: Opaque,
        signature: Signature,
        source: Opaque,
        setup: Settings,
    ) -> Quantity:
        """A mean by weights, or over a number of targets that differs between processes."""
        weight = setup.weight
        if weight is None:
            return domain.unknown(
                f"{signature.function} has weights on one path and none on another", whole=True
            )
        if not isinstance(value.node, cst.Call) or len(value.callee) > 1:
            return domain.unknown(
                f"one of several losses is called, and {signature.function} is among them",
                whole=True,
            )
        built = source.node if source is not value and isinstance(source.node, cst.Call) else None
        loss = WeightedLoss(
            FUNCTIONAL + signature.function,
            value.node,
            built,
            weight and signature.function in AVERAGED_BY_WEIGHT,
            signature.function in AVERAGED_BY_WEIGHT
            and (setup.ignore_index or self.marks_left_out),
        )
        pending = frozenset({Pending(Duty.LOSS, value.node, value.module, loss)})
        return replace(domain.part(0, gradient=True), pending=pending)

    # Methods.

    def method(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of a method of something that is no object of the project's."""
        word = callee.name
        receivers = callee.operands[0]
        if any(is_instance_of(one, self.plan.table.module_bases) for one in receivers) or any(
            self.is_layer(origin(one)) and self.is_object(one) and not self.is_tensor(one)
            for one in receivers
        ):
            return self.model_method(value, word)
        receiver = self.look(receivers)
        if any(isinstance(one, (Class, Instance)) for one in receivers):
            if word == "apply":
                return self.from_model(domain.NOTHING, value)
            return self.nothing_known(value, f"'{word}'")
        if all(isinstance(one, (Sequence, Mapping)) for one in receivers) and receivers:
            return receiver if word not in ("index", "count") else domain.equal(tensor=False)
        if receiver.independent and not any(self.is_tensor(one) for one in receivers):
            # A scaler of gradients, a generator of random numbers, a parser, a writer.
            if word == "scale" and value.arguments.items:
                return self.look(value.arguments.items[0].values)
        return self.applied(word, receiver, value, Given(value.arguments, 0), receivers)

    def is_object(self, value: Value) -> bool:
        """Whether a value is an object rather than what calling it gave."""
        return not (isinstance(value, Opaque) and self.is_model_call((value,)))

    def is_tensor(self, value: Value) -> bool:
        """Whether a value is certainly a tensor."""
        return isinstance(value, Opaque) and self.look((value,)).kind in (Kind.SAMPLE, Kind.PART)

    def model_method(self, value: Opaque, word: str) -> Quantity:
        """A method of a model, or of a layer."""
        if word in self.plan.table.parameter_methods:
            return domain.equal(gradient=True)
        if word in (
            "state_dict",
            "buffers",
            "named_buffers",
            "named_modules",
            "modules",
            "children",
        ):
            return domain.equal(gradient=word not in ("state_dict", "buffers", "named_buffers"))
        return self.from_model(domain.NOTHING, value)

    # Functions.

    def external(self, value: Opaque, name: str) -> Quantity:
        """A call of something outside the project by its name."""
        table = self.plan.table
        package, _, word = name.rpartition(".")
        if name in table.world_size_calls:
            return domain.equal(0 if self.whole else -1, tensor=False)
        if package == "torch.distributed" or name in table.rank_calls:
            return domain.equal(tensor=False)
        signature = loss_function(name)
        if signature is not None:
            return self.loss(value, signature, value)
        if name.endswith("amp.scale_loss") and value.arguments.items:
            return self.look(value.arguments.items[0].values)
        if name == "torch.autograd.grad":
            return self.gradients(value)
        if package == "builtins":
            return self.builtin(value, word)
        if name.startswith("torch.distributions."):
            return domain.nonlinear("a distribution", *self.given(value))
        if name.startswith("torchmetrics."):
            return domain.equal(tensor=False)
        if word in ("contiguous_format", "Generator"):
            return domain.equal(tensor=False)
        if name.startswith(KNOWN_PACKAGES):
            first = value.arguments.get("input", 0) or (
                value.arguments.items[0] if value.arguments.items else None
            )
            tensors = first.values if first is not None else ()
            given = Given(value.arguments, 1)
            found = self.applied(word, self.look(tensors), value, given, tensors, name)
            numeric = name.startswith(("numpy.", "math.")) and found.kind is not Kind.SHAPE
            return replace(found, tensor=False) if numeric else found
        return self.nothing_known(value, name)

    def builtin(self, value: Opaque, word: str) -> Quantity:
        """A builtin function."""
        given = self.given(value)
        first = given[0] if given else domain.NOTHING
        if word in BUILTIN_NUMBERS:
            return self.as_number(first, value)
        if word == "sum":
            return self.summed(value.arguments.items[0].values) if given else domain.NOTHING
        if word in ("max", "min") and len(given) > 1:
            return self.guarded(given) or domain.nonlinear(word, *given)
        if word == "pow" and len(given) == 2:
            return self.power(first, value.arguments.items[1].values)
        if word in ("range", "slice", "hash", "id", "callable", "hasattr", "type"):
            return domain.equal(tensor=False)
        if word in ("str", "repr", "format", "print"):
            return self.gathered(given)
        if word in ("abs", "divmod", "max", "min", "any", "all"):
            if first.kind is Kind.SAMPLE and word != "abs":
                return domain.unknown(f"{word} over the samples of a batch", whole=True)
            return domain.nonlinear(word, *given)
        return self.nothing_known(value, f"'{word}'")

    def as_number(self, quantity: Quantity, value: Opaque) -> Quantity:
        """A quantity as a plain number that left the tensors: equal once it is reduced."""
        number = quantity.number()
        if number.kind is Kind.SAMPLE:
            return number
        if self.whole and number.kind in (Kind.PART, Kind.EQUAL):
            return domain.equal(tensor=False)
        if number.kind is Kind.PART and quantity.tensor:
            leaf = Pending(Duty.NUMBER, value.node, value.module)
            return replace(number, kind=Kind.EQUAL, pending=number.pending | {leaf})
        return number

    def summed(self, values: Values) -> Quantity:
        """The sum of the elements of a sequence, or of a tensor."""
        found = domain.NOTHING
        for value in values:
            if isinstance(value, Sequence):
                for element in (*value.elements, value.rest):
                    found = domain.add(found, self.look(element))
            elif isinstance(value, Mapping):
                found = domain.add(found, self.look(value.every()))
            else:
                one = self.look((value,))
                found = domain.add(
                    found, one if self.is_model_call((value,)) else domain.total(one)
                )
        return found

    def guarded(self, given: list[Quantity]) -> Quantity | None:
        """``max(value, 1)``: the value, where the others are plain numbers."""
        others = [one for one in given if not (one.independent and not one.tensor)]
        if len(others) == 1 and len(given) == 2:
            return others[0]
        return None

    def power(self, base: Quantity, exponent: Values) -> Quantity:
        """``base ** exponent``."""
        constant = only_constant(exponent)
        if base.kind is Kind.EQUAL and base.degree and constant is not None:
            if isinstance(constant.value, int):
                return base.scaled(base.degree * (constant.value - 1))
        if constant is not None and constant.value == 1:
            return base
        return domain.nonlinear("a power", base, self.look(exponent))

    def gradients(self, value: Opaque) -> Quantity:
        """``torch.autograd.grad``: one gradient for each sample, where the inputs are samples."""
        outputs = value.arguments.get("outputs", 0)
        inputs = value.arguments.get("inputs", 1)
        of = self.look(outputs.values) if outputs is not None else domain.NOTHING
        to = self.look(inputs.values) if inputs is not None else domain.NOTHING
        if to.kind is Kind.SAMPLE and of.kind in (Kind.SAMPLE, Kind.PART):
            degree = (of.degree or 0) - (1 if of.kind is Kind.PART else 0)
            return replace(domain.sample(gradient=True).scaled(degree), dim=to.dim)
        if of.kind is Kind.SAMPLE:
            return domain.total(of)
        return of

    def all_reduced(self, quantity: Quantity, operation: str) -> Quantity:
        """A value that ``all_reduce`` has worked on."""
        if quantity.agreed:
            # The same tensor on another device.
            return quantity
        degree = 0 if operation == "AVG" else -1
        if quantity.kind in (Kind.PART, Kind.EQUAL) and operation in ("SUM", "AVG"):
            return replace(quantity.scaled(degree).without_gradient(), kind=Kind.EQUAL, agreed=True)
        return replace(domain.equal(), agreed=True)

    # The vocabulary.

    def applied(
        self,
        word: str,
        tensor: Quantity,
        value: Opaque,
        given: Given,
        tensors: Values,
        name: str = "",
    ) -> Quantity:
        """A function or method of the vocabulary on a tensor.

        Args:
            word: its last word.
            tensor: the quantity of what it works on.
            value: the call.
            given: the arguments behind the tensor.
            tensors: the values of what it works on.
            name: the dotted name of a function; empty for a method.
        """
        plain = word if word.startswith("__") else word.rstrip("_") or word
        others = [self.look(values) for values in given.positional()]
        if plain in TENSOR_TYPES and self.is_size(value):
            return self.made(plain, tensor, value, name)
        if plain in NEUTRAL_METHODS:
            return domain.equal(tensor=False)
        if word in ("size",) or plain in ("numel", "nelement"):
            return self.size(word, tensor, given)
        if plain in LIKE or (plain in FACTORIES and (name or tensor.kind is not Kind.PART)):
            return self.made(plain, tensor, value, name)
        if plain in RESHAPES:
            return self.reshaped(plain, tensor, given)
        if plain in SUMS or plain in MEANS:
            return self.reduced_over(plain, tensor, value, given)
        if plain in ("max", "min") and others and self.is_elementwise_pair(given):
            return self.guarded([tensor, *others]) or domain.nonlinear(plain, tensor, *others)
        if plain in OVER_ALL or plain in ALONG:
            return self.along(plain, tensor, given, others)
        if plain in CONCATENATIONS:
            return self.concatenated(plain, tensor, given, tensors)
        if plain in SPLITS:
            return replace(tensor, dim=None) if tensor.kind is Kind.SAMPLE else tensor
        if plain in GUARDS:
            return tensor
        if plain in ADDITIONS:
            return domain.add(tensor, others[0]) if others else tensor
        if plain in PRODUCTS:
            return domain.multiply(tensor, others[0]) if others else tensor
        if plain in QUOTIENTS:
            return self.quotient(tensor, value, given)
        if plain in NEGATIONS:
            return tensor
        if plain == "pow" and others:
            return self.power(tensor, given.positional()[0])
        if plain in PAIRWISE:
            return self.pairwise(tensor, others)
        if plain in MATRIX_PRODUCTS or plain in BATCHED_PRODUCTS or plain == "einsum":
            return self.product(plain, tensor, value, given, others)
        if plain in SELECTIONS:
            if tensor.kind is Kind.SAMPLE:
                return replace(tensor, selection=True, dim=0, content="")
            return tensor
        if plain == "pad_packed_sequence":
            return replace(tensor, selection=False)
        if plain == "pad_sequence":
            return tensor
        if plain in SAME:
            return self.same(plain, tensor, value)
        if plain in CUTS:
            return tensor.without_gradient()
        if plain in ELEMENTWISE or word in ELEMENTWISE:
            return self.elementwise(plain, tensor, others, value)
        if tensor.independent and all(one.independent for one in self.given(value)):
            return domain.equal(gradient=tensor.gradient)
        if tensor.kind is Kind.UNKNOWN:
            return tensor
        if tensor.kind is Kind.NOTHING and not self.given(value):
            return domain.equal(tensor=False)
        return self.nothing_known_of(word, tensor, value, name)

    def is_size(self, value: Opaque) -> bool:
        """Whether a tensor's type is given a size rather than data."""
        ordered = value.arguments.positional()
        return len(ordered) > 1 or any(
            one.kind is Kind.SHAPE
            or (one.kind is Kind.EQUAL and one.degree == 1 and not one.tensor)
            for one in (self.look(argument.values) for argument in ordered)
        )

    def nothing_known_of(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A function or method that the vocabulary lacks."""
        found = domain.unknown_among(tensor, *self.given(value))
        return found or domain.unknown(f"nothing is known of {name or repr(word)}")

    def same(self, word: str, tensor: Quantity, value: Opaque) -> Quantity:
        """What gives its argument back, perhaps as a number."""
        found = tensor.without_gradient() if word in CUTS else tensor
        if word in MASKS and found.kind is Kind.SAMPLE:
            return replace(found, content="bool")
        return self.as_number(found, value) if word in NUMBERS else found

    def size(self, word: str, tensor: Quantity, given: Given) -> Quantity:
        """``x.size()``, ``x.size(0)``, ``x.numel()``."""
        if word != "size":
            return self.counted(tensor, None)
        values = given.get("dim", 0)
        if not values:
            if tensor.kind is Kind.SAMPLE:
                return replace(tensor.without_gradient(), kind=Kind.SHAPE)
            return domain.equal(tensor=False)
        position = integer(values)
        if tensor.kind is Kind.SAMPLE and tensor.dim is None:
            return domain.count() if position == 0 else domain.equal(tensor=False)
        return self.counted(tensor, position)

    def made(self, word: str, tensor: Quantity, value: Opaque, name: str) -> Quantity:
        """A new tensor of a shape."""
        content = "index" if word in POSITIONS else ""
        if word in LIKE:
            if tensor.kind is Kind.SAMPLE:
                return domain.sample(dim=tensor.dim)
            return domain.equal()
        for argument in value.arguments.items:
            found = self.shape_of(argument.values, 0)
            if found is not None:
                if word == "eye":
                    return domain.unknown(domain.PAIRS, certain=True)
                return domain.sample(dim=found, content=content)
        for position, argument in enumerate(value.arguments.positional()):
            if self.look(argument.values).degree == 1 or self.is_batch_size(argument.values):
                dim = position if word in SIZES_ONLY else 0
                return domain.sample(dim=dim, content=content)
        for argument in value.arguments.items:
            if argument.keyword == "size" and self.look(argument.values).degree == 1:
                return domain.sample(content=content)
        if name.startswith(("numpy.", "torch.")):
            known = [one for one in self.given(value) if one.kind is Kind.UNKNOWN]
            if known:
                return known[0]
        return domain.equal()

    def shape_of(self, values: Values, depth: int) -> int | None:
        """Where a shape counts samples; None where it counts none."""
        for value in values:
            if isinstance(value, Sequence) and depth == 0:
                for position, element in enumerate((*value.elements, value.rest)):
                    found = self.look(element)
                    if found.kind is Kind.SHAPE:
                        return found.dim
                    if found.kind is Kind.EQUAL and found.degree == 1:
                        return position
                    if self.is_batch_size(element):
                        return position
            elif self.look((value,)).kind is Kind.SHAPE:
                return self.look((value,)).dim
        return None

    def is_batch_size(self, values: Values) -> bool:
        """Whether a size is what a training loader is given as its batch size.

        As a shape it is that of the process's own batch; as a number it stays what it was.
        """
        return any(id(value) in self.batch_sizes for value in values)

    def reshaped(self, word: str, tensor: Quantity, given: Given) -> Quantity:
        """A change of shape."""
        if tensor.kind is Kind.SAMPLE:
            return reshaped(word, tensor, given, self.look)
        return tensor

    def reduced_over(self, word: str, tensor: Quantity, value: Opaque, given: Given) -> Quantity:
        """A sum or mean, over everything or some dimensions."""
        reduce = domain.total if word in SUMS else domain.average
        if word == "average" and given.get("weights", 1):
            return domain.unknown("it is an average by weights", whole=True)
        if word == "nanmean" and tensor.kind is Kind.SAMPLE:
            tensor = replace(tensor, selection=True)
        if word == "count_nonzero":
            tensor = tensor.without_gradient()
        if tensor.kind is not Kind.SAMPLE:
            return (
                tensor if tensor.kind is not Kind.UNKNOWN else self.after_reduction(tensor, given)
            )
        dims = given.dims()
        if dims == ():
            return reduce(tensor)
        if dims is None:
            return domain.unknown(f"the dimensions of '{word}' are not known")
        if tensor.dim is None:
            return replace(tensor, content="")
        if tensor.dim in dims:
            return reduce(tensor)
        return replace(tensor, content="", dim=tensor.dim - before(dims, tensor.dim, given))

    def after_reduction(self, quantity: Quantity, given: Given) -> Quantity:
        """An unknown after a reduction: a single number, if it was over everything."""
        return replace(quantity, whole=True) if given.dims() == () else quantity

    def is_elementwise_pair(self, given: Given) -> bool:
        """Whether ``max(x, y)`` compares two tensors rather than looks along a dimension."""
        second = given.positional()
        return (
            len(second) == 1
            and integer(second[0]) is None
            and not (given.arguments.get("dim") or given.arguments.get("axis"))
        )

    def along(self, word: str, tensor: Quantity, given: Given, others: list[Quantity]) -> Quantity:
        """What looks along a dimension: harmless unless that counts the samples."""
        if word in ("cosine_similarity", "pairwise_distance", "cross") and others:
            tensor = domain.nonlinear(word, tensor, others[0])
        if tensor.kind is not Kind.SAMPLE:
            found = domain.nonlinear(word, tensor)
            return found if found.kind is not Kind.UNKNOWN else self.after_reduction(found, given)
        dims = given.dims(DIM_POSITION.get(word, 0))
        if dims == () and word in ("topk", "kthvalue", "sort", "msort", "argsort"):
            return domain.unknown(
                f"'{word}' looks along the last dimension, which may count the samples"
            )
        if dims == () and word in ALONG:
            dims = (DEFAULT_DIM.get(word, -1),)
        content = "index" if word in POSITIONS else ""
        if dims is None:
            return domain.unknown(f"the dimensions of '{word}' are not known")
        if dims == ():
            return domain.unknown(f"'{word}' looks at all samples of the batch at once", whole=True)
        if tensor.dim is not None and tensor.dim in dims:
            return domain.unknown(f"'{word}' looks across the samples of a batch")
        keeps = word in ALONG and word not in ("cosine_similarity", "pairwise_distance")
        moved = 0 if keeps or tensor.dim is None else before(dims, tensor.dim, given)
        found = domain.nonlinear(word, tensor)
        if found.kind is not Kind.SAMPLE:
            return found
        gradient = replace(found, content=content)
        if word in POSITIONS:
            gradient = gradient.without_gradient()
        return replace(gradient, dim=None if found.dim is None else found.dim - moved)

    def concatenated(self, word: str, tensor: Quantity, given: Given, tensors: Values) -> Quantity:
        """Several tensors in one."""
        if tensor.kind is not Kind.SAMPLE:
            return tensor
        dims = given.dims()
        at = dims[0] if dims else 0
        if word == "stack" and tensor.dim is not None and 0 <= at <= tensor.dim:
            return replace(tensor, dim=tensor.dim + 1, content="")
        return replace(tensor, content="")

    def quotient(self, tensor: Quantity, value: Opaque, given: Given) -> Quantity:
        """``a.div(b)``."""
        ordered = value.arguments.positional()[given.offset :]
        if not ordered:
            return tensor
        node = ordered[0].node
        pending = Pending(Duty.DENOMINATOR, node, value.module) if node is not None else None
        return domain.divide(tensor, self.look(ordered[0].values), pending)

    def elementwise(
        self, word: str, tensor: Quantity, others: list[Quantity], value: Opaque
    ) -> Quantity:
        """What is applied to each element."""
        if word in ("gather", "index_select", "take_along_dim", "scatter", "scatter_add"):
            others = others[1:]
        if word == "embedding" and others:
            return (
                replace(domain.sample(gradient=True), dim=others[0].dim)
                if (others[0].kind is Kind.SAMPLE)
                else tensor
            )
        keywords = [
            self.look(argument.values)
            for argument in value.arguments.items
            if argument.keyword not in (None, "dim", "out", "generator", "p", "training", "dtype")
        ]
        if word == "masked_fill" and tensor.kind is Kind.PART:
            return domain.unknown(f"'{word}' of a number over the batch", whole=True)
        found = domain.nonlinear(f"'{word}'", tensor, *others, *keywords)
        if found.kind is Kind.SAMPLE and word in MASKS:
            return replace(found.without_gradient(), content="bool")
        return found

    def pairwise(self, tensor: Quantity, others: list[Quantity]) -> Quantity:
        """What compares all rows of one tensor with all rows of another."""
        if any(one.kind in (Kind.SAMPLE, Kind.UNKNOWN) for one in (tensor, *others)):
            if tensor.kind is Kind.SAMPLE and others and others[0].independent:
                return replace(tensor, content="")
            return domain.unknown(domain.PAIRS, certain=True)
        return domain.nonlinear("a product", tensor, *others)

    def product(
        self,
        word: str,
        tensor: Quantity,
        value: Opaque,
        given: Given,
        others: list[Quantity],
    ) -> Quantity:
        """A product of matrices."""
        if word == "einsum":
            return self.einsum(value)
        if not others:
            return tensor
        if word in ("addmm", "baddbmm") and len(others) > 1:
            product = self.matrix_product(others[0], others[1])
            return domain.add(tensor, product)
        if word in BATCHED_PRODUCTS:
            return domain.multiply(tensor, others[0])
        if word in ("dot", "inner", "tensordot") and Kind.SAMPLE in (tensor.kind, others[0].kind):
            product = domain.multiply(tensor, others[0])
            return domain.total(product) if word == "dot" else domain.unknown(domain.PAIRS)
        return self.matrix_product(tensor, others[0], word in ("mm",))

    def matrix_product(self, left: Quantity, right: Quantity, flat: bool = False) -> Quantity:
        """``left @ right``; `flat` where both are certainly matrices."""
        found = domain.unknown_among(left, right)
        if found is not None:
            return found
        if left.kind is Kind.SAMPLE and right.kind is Kind.SAMPLE:
            if left.dim == 0 and right.dim == 1:
                return domain.unknown(domain.PAIRS, certain=True)
            if left.dim == 1 and right.dim == 0:
                return domain.total(domain.multiply(left, replace(right, dim=1)))
            if flat:
                return domain.unknown(domain.PAIRS)
            return domain.multiply(replace(left, content=""), right)
        if right.kind is Kind.SAMPLE and left.kind is Kind.EQUAL:
            if right.dim == 0 and flat:
                return domain.unknown("it mixes the samples of a batch")
            return domain.multiply(right, left)
        return domain.multiply(left, right)

    def einsum(self, value: Opaque) -> Quantity:
        """``torch.einsum`` with a known equation."""
        ordered = value.arguments.positional()
        constant = only_constant(ordered[0].values) if ordered else None
        operands = [self.look(argument.values) for argument in ordered[1:]]
        found = domain.unknown_among(*operands)
        if found is not None:
            return found
        samples = [one for one in operands if one.kind is Kind.SAMPLE]
        if not samples:
            return domain.nonlinear("einsum", *operands)
        if constant is None or not isinstance(constant.value, str):
            return domain.unknown("the equation of einsum is not known")
        left, _, right = constant.value.replace(" ", "").partition("->")
        letters = set()
        for part, one in zip(left.split(","), operands, strict=False):
            if one.kind is Kind.SAMPLE:
                dim = one.dim or 0
                letters.add(part[dim] if dim < len(part) and not part.startswith(".") else ".")
        if len(letters) != 1:
            return domain.unknown(domain.PAIRS, certain=True)
        letter = letters.pop()
        product = operands[0]
        for one in operands[1:]:
            product = domain.multiply(product, one)
        if product.kind is not Kind.SAMPLE:
            return product
        if letter == "." or letter in right:
            return replace(product, dim=right.find(letter) if letter != "." else product.dim)
        return domain.total(product)


def before(dims: tuple[int, ...], dim: int, given: Given) -> int:
    """How many of the dimensions that go away stand before the samples'."""
    keeps = any(given.get(name, None) == (Constant(True),) for name in ("keepdim", "keepdims"))
    return 0 if keeps else sum(0 <= one < dim for one in dims)


def find_reductions(plan: Plan) -> dict[int, str]:
    """The values that ``all_reduce`` works on, with its operation."""
    found: dict[int, str] = {}
    for event in plan.facts.events:
        if event.kind != "call":
            continue
        if not any(
            isinstance(callee, External) and callee.name == "torch.distributed.all_reduce"
            for callee in event.callee
        ):
            continue
        tensor = event.arguments.get("tensor", 0)
        chosen = event.arguments.get("op", 1)
        word = "SUM"
        for value in chosen.values if chosen is not None else ():
            if isinstance(value, External):
                word = value.name.rpartition(".")[2]
        for value in tensor.values if tensor is not None else ():
            found[id(value)] = word
    return found
