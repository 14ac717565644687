"""The quantities of what models give, and what a model is."""

from __future__ import annotations

from typing import NamedTuple

from transpile.facts.values import Constant, Instance, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, is_instance_of, method_calls, origin
from transpile.plan.models.parts import walk_parts
from transpile.records import replace

from .. import algebra, domain
from ..domain import Kind, Quantity
from ..looking import Looking
from ..operations import SPLITS
from .parts import said_by_parts

#: Attributes of layers that are tensors.
TENSOR_ATTRIBUTES = frozenset({"weight", "bias", "data", "grad", "pos_weight"})


class RecurrentPart(NamedTuple):
    """What a part of the result of a recurrent layer is."""

    is_tensor: bool = False
    is_state: bool = False


class Models(Looking):
    """The part of the analysis that knows models and their layers."""

    def recurrent_part(self, value: Opaque, seen: frozenset[int] = frozenset()) -> RecurrentPart:
        """What an item is of the result of a recurrent layer; neither for others.

        Args:
            value: the item.
            seen: the items of it that led here, by their identities.
        """
        constant = value.index[0] if len(value.index) == 1 else None
        position = constant.value if isinstance(constant, Constant) else None
        found = RecurrentPart()
        for behind in value.operands[0]:
            if not isinstance(behind, Opaque):
                continue
            second = behind.kind == "item" and behind.index == (Constant(1),)
            if second and id(behind) not in seen:
                if self.recurrent_part(behind, seen | {id(value)}) == (False, True):
                    return RecurrentPart(is_tensor=True, is_state=True)
            for callee in behind.callee:
                for name in called_names(origin(callee)):
                    pairs = self.vocabulary.layers.recurrent.get(name)
                    if pairs is not None and position in (0, 1):
                        pair = pairs and position == 1
                        found = RecurrentPart(is_tensor=not pair, is_state=position == 1)
        return found

    def instance(self, value: Opaque, callee: Instance) -> Quantity:
        """A call of an object of a project class."""
        found = self.look(value.inner)
        if not value.inner or id(callee.cls.node) in self.known_models():
            return self.from_model(found, value)
        return found

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
        samples = [one for one in given if one.kind is Kind.SAMPLE]
        # What a model does to a batch statistic that it is given is not known to be linear.
        coupled = any(one.coupled or one.pending for one in samples)
        if inside.kind is Kind.SAMPLE:
            if self.vocabulary.apart is None:
                # What models do with statistics of the batch is told with the loss alone.
                coupled = coupled or inside.coupled
            return replace(inside, dim=inside.dim or 0, coupled=coupled)
        if samples:
            selection = any(one.selection for one in samples)
            dim = samples[0].dim if self.keeps_dimensions(source) else 0
            made = domain.sample(gradient=True, dim=dim or 0)
            return replace(made, selection=selection, coupled=coupled)
        for one in given:
            if one.kind is Kind.UNKNOWN:
                return one
            if one.kind is Kind.PART:
                return domain.unknown(algebra.STATISTIC)
        return domain.equal(gradient=True)

    def unknown_part(self, model: Value) -> str:
        """The name of a part of a model that is of no known library, where no rule looks at them.

        Nothing says of it that it keeps the samples of a batch apart.
        """
        if self.vocabulary.apart is not None:
            return ""
        layers = self.vocabulary.layers
        known = (*self.plan.table.layer_packages, *layers.models, *layers.packages, "builtins.")
        for part in walk_parts(model):
            names = called_names(part)
            if names and not any(name.startswith(known) for name in names):
                return names[0]
        return ""

    def keeps_dimensions(self, value: Value) -> bool:
        """Whether a call is one of a single layer, which leaves the samples where they are."""
        return isinstance(value, Opaque) and any(
            name.startswith(self.vocabulary.layers.packages)
            for callee in value.callee
            for name in called_names(origin(callee))
        )

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
        kept = self.of_parts(value.callee[0]) if len(value.callee) == 1 else None
        return kept or self.from_model(domain.NOTHING, value)

    def of_parts(self, value: Value) -> Quantity | None:
        """What a part of a model keeps or gives whose class is not known; None if nothing is."""
        known = said_by_parts(self.plan, value)
        return self.look(known) if known else None

    def is_layer(self, value: Value) -> bool:
        """Whether an object is a model, or a part of one."""
        layers = self.vocabulary.layers
        for _ in range(20):
            if id(value) in self.models or is_instance_of(value, self.plan.table.module_bases):
                return True
            if not isinstance(value, Opaque):
                return False
            packages = self.plan.table.layer_packages
            for name in called_names(value):
                if name.startswith(layers.functional):
                    return False
                if name.startswith(layers.models) or (name.startswith(packages) and is_class(name)):
                    return True
            if any(name.startswith(packages) for name in called_names(value)):
                # A function of these packages gives the layer that it is given, as weight norms do.
                given = value.arguments.positional()
                if not given or not given[0].values:
                    return False
                value = origin(given[0].values[0])
                continue
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

    def is_object(self, value: Value) -> bool:
        """Whether a value is an object rather than what calling it gave."""
        return not (isinstance(value, Opaque) and self.is_model_call((value,)))

    def is_tensor(self, value: Value) -> bool:
        """Whether a value is certainly a tensor."""
        return isinstance(value, Opaque) and self.look((value,)).kind in (Kind.SAMPLE, Kind.PART)

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
            "size", "namedtuple", "join",
        }  # fmt: skip
        for name in names:
            word = name.rpartition(".")[2]
            if word in several or word in SPLITS or word in self.vocabulary.several:
                return True
        return False

    def model_gives_several(self, value: Opaque) -> bool:
        """Whether a model gives several tensors, or may do so."""
        if value.inner:
            return any(
                isinstance(one, (Sequence, Mapping, Instance)) or self.gives_several(one)
                for one in value.inner
            )
        return not any(self.gives_one(origin(callee)) for callee in value.callee)

    def holds_layers(self, value: Value) -> bool:
        """Whether a value is a container of a library's layers."""
        layers = self.vocabulary.layers
        return any(
            name.startswith(layers.packages) and name.rpartition(".")[2] in layers.containers
            for name in called_names(value)
        )

    def gives_one(self, layer: Value) -> bool:
        """Whether a layer of a library, or a chain of layers, certainly gives a single tensor.

        One of several layers that a container holds does if all of them do.
        """
        layers = self.vocabulary.layers
        if isinstance(layer, Opaque) and layer.kind in ("element", "item"):
            held = [origin(one) for one in layer.operands[0]]
            return (
                bool(held) and all(map(self.holds_layers, held)) and all(map(self.gives_one, held))
            )
        for name in called_names(layer):
            package, _, word = name.rpartition(".")
            if name.startswith(layers.flat) and not word.startswith(layers.several_models):
                return package.count(".") == 1
            if layers.word(name) in layers.containers and isinstance(layer, Opaque):
                parts = [
                    one
                    for item in layer.arguments.items[-1:]
                    for value in item.values
                    for one in members(value)
                ]
                return not any(isinstance(one, Instance) for one in parts) and all(
                    self.gives_one(one) or not called_names(one) for one in parts
                )
            if layers.word(name) and word not in layers.several:
                return True
        return False


def members(value: Value) -> Values:
    """What a list or tuple holds; anything else is a member itself."""
    if not isinstance(value, Sequence):
        return (value,)
    return (*(one for part in value.elements for one in part), *value.rest)


def is_class(name: str) -> bool:
    """Whether a dotted name is one of a class."""
    return name.rpartition(".")[2][:1].isupper()
