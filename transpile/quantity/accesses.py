"""The quantities of what is taken out of something: elements, attributes and items."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from transpile.facts.values import (
    Constant,
    Generator,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, method_calls, origin, walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import enters_wrapper
from transpile.records import replace

from . import algebra, domain
from .calls import Calls
from .cuts import CUT_BY_SHARE, is_cut_by_share
from .domain import Duty, Kind, Pending, Quantity
from .joined import is_joined
from .models.heads import heads_of, is_beginning
from .operations import CUTS, NEUTRAL_ATTRIBUTES
from .sample_axis.orders import takes_several
from .sample_axis.pieces import BY_PLACE, is_plain_size, picks_values, takes_by_place
from .sample_axis.shapes import PIECES, SOME_SIZE, Given, indexed, piece, reshaped
from .uses import gives_tensors, is_masked, tensors_by_use

#: Methods of dicts that give their entries.
VIEWS = frozenset({"items", "keys", "values"})
PAIRS = frozenset({"items"})


class Accesses(Calls):
    """What elements, attributes and items are.

    Args:
        plan: the plan.
        whole: take numbers that leave the tensors as those of the global batch.
    """

    def __init__(self, plan: Plan, whole: bool = False) -> None:
        super().__init__(plan, whole)
        self.training = {id(loader.value) for loader in plan.training_loaders}
        self.loaders = {id(loader.value) for loader in plan.loaders}
        self.used_as_tensors = tensors_by_use(plan)
        self.of_tensors = {
            id(each.value) for each in plan.loaders if gives_tensors(each, self.vocabulary.batching)
        }

    @abstractmethod
    def laid_out(self, value: Value) -> dict[object, int]:
        """Where the tensors of a batch count samples, where a collate function decides it."""

    @abstractmethod
    def position_in_batch(self, value: Opaque) -> int | None:
        """Where a part of a batch counts samples, for a tensor that a collate function makes."""

    @abstractmethod
    def in_model(self, value: Opaque) -> bool:
        """Whether a value is made by the code of a model."""

    def element(self, value: Opaque) -> Quantity:
        """What iterating gives."""
        batch = self.batch_of(value)
        if batch is not None:
            if not batch:
                return domain.equal()
            return domain.sample(dim=self.laid_out(value).get(None, 0), rank=1)
        found = self.look(value.operands[0])
        if found.kind is Kind.SAMPLE and not self.is_collection(value.operands[0]):
            if found.dim is not None and found.dim > 0:
                return replace(found, dim=found.dim - 1)
            return piece(found)
        if found.kind is Kind.SHAPE:
            # Any of the sizes, the number of samples among them.
            return replace(found, tensor=False)
        if any("builtins.range" in called_names(source) for source in value.operands[0]):
            return domain.equal(tensor=False)
        return found

    def method(self, value: Opaque, callee: Opaque) -> Quantity:
        """A call of a method; what a batch that is a dict holds is each a part of the batch."""
        if callee.name in VIEWS and not value.arguments.items:
            if self.is_collection(callee.operands[0]):
                if callee.name == "keys":
                    return domain.equal(tensor=False)
                held = self.look(callee.operands[0])
                dims = {dim for one in callee.operands[0] for dim in self.laid_out(one).values()}
                if held.kind is Kind.SAMPLE and dims:
                    return replace(held, dim=dims.pop() if len(dims) == 1 else None)
                return held
        return super().method(value, callee)

    def is_collection(self, values: Values, seen: set[int] | None = None) -> bool:
        """Whether values are tuples, lists or dicts of tensors rather than tensors."""
        seen = set() if seen is None else seen
        for value in values:
            behind = origin(value)
            if id(behind) in seen:
                # A part of itself, as in a loop: what else it may be decides.
                continue
            seen.add(id(behind))
            if isinstance(behind, (Sequence, Mapping, Generator)):
                continue
            if self.batch_of(behind) is not None or self.gives_several(behind):
                continue
            if is_view(behind) or is_pair(behind) or self.is_list(behind):
                continue
            if isinstance(behind, Opaque) and behind.kind == "item":
                if self.position_in_batch(behind) is not None:
                    return False
                if behind is not value or self.is_used_as_tensor(behind):
                    return False
                if is_masked(behind.node):
                    return False
                named = inner_entries(behind.operands[0], key_of(behind))
                within = behind.inner or named or behind.operands[0]
                if not self.recurrent_part(behind).is_tensor and self.is_collection(within, seen):
                    continue
            return False
        return bool(values)

    def is_list(self, value: Value) -> bool:
        """Whether a value is an attribute of a batch that is a list of tensors."""
        return (
            isinstance(value, Opaque)
            and value.kind == "attribute"
            and value.name in self.vocabulary.lists
            and any(self.batch_of(base) is not None for base in value.operands[0])
        )

    def is_used_as_tensor(self, item: Opaque) -> bool:
        """Whether a part of a batch is a tensor: the script uses it so, or the data set says so."""
        if not isinstance(item.index[0] if item.index else None, Constant):
            return False
        if not any(self.batch_of(base) for base in item.operands[0]):
            return False
        return id(item) in self.used_as_tensors or any(
            id(behind) in self.of_tensors
            for base in item.operands[0]
            if isinstance(base, Opaque)
            for behind in walk_back(base.operands[0], enters_wrapper)
        )

    def attribute(self, value: Opaque) -> Quantity:
        """``base.name``."""
        base, name = value.operands[0], value.name
        if name == "num_replicas":
            shared = any(id(v) in self.training for v in walk_back(base, is_access))
            return domain.equal(-1 if shared and not self.whole else 0, tensor=False)
        if name == "batch_size" and any(id(one) in self.training for one in base):
            return domain.count()
        if name == "dataset" and any(id(one) in self.loaders for one in base):
            return domain.equal()
        if any(self.is_layer(origin(one)) and self.is_object(one) for one in base):
            if not any(self.is_tensor(one) for one in base):
                return self.of_parts(value) or domain.equal(gradient=True)
        inner = inner_entries(base, name)
        if inner:
            return self.look(inner)
        if name == "loss" and any(map(self.may_give_loss, base)):
            return self.loss_given(base)
        found = self.look(base)
        if name == "shape" and picks_values(found):
            return found.number()
        if found.kind is Kind.SAMPLE:
            if name == "shape":
                return replace(found.without_gradient(), kind=Kind.SHAPE)
            if name in NEUTRAL_ATTRIBUTES:
                return domain.equal(tensor=False)
            if name == "size":
                return self.counted(found, None)
            if name == "grad":
                # That of a mean over the batch: the smaller the share, the larger it is.
                return replace(domain.sample(dim=found.dim).scaled(-1), selection=found.selection)
            if name in ("T", "H", "mT"):
                return reshaped(name, found, Given(value.arguments, 0), self.look)
            if name == "loss" and self.is_model_call(base):
                return domain.unknown(IN_LIBRARY, whole=True)
            if name == "batch_size" or name == "num_graphs":
                return domain.count()
        elif name in NEUTRAL_ATTRIBUTES or name == "shape":
            return domain.equal(tensor=False)
        return found.without_gradient() if name in CUTS else found

    def may_give_loss(self, value: Value) -> bool:
        """Whether a call of a library's model is given labels of a training batch.

        What it gives first is a mean over the targets that are not left out, whose number differs.
        """
        if is_beginning(value):
            assert isinstance(value, Opaque)
            return any(map(self.may_give_loss, value.operands[0]))
        if not isinstance(value, Opaque) or value.inner or not self.is_model_call((value,)):
            return False
        if not heads_of(value, self.vocabulary.layers):
            return False
        given = value.arguments
        labels = [item.values for item in given.items if item.keyword == "labels"]
        labels.extend(item.values for item in given.items if item.mapping)
        if given.rest:
            labels.append(given.rest)
        if not labels:
            return bool(given.unknown_because)
        return any(not self.look(values).independent for values in labels)

    def loss_given(self, calls: Values) -> Quantity:
        """The loss that a library's model gives, as far as it is known what it is a mean over."""
        found = domain.NOTHING
        for call in calls:
            if is_beginning(call):
                assert isinstance(call, Opaque)
                one = self.loss_given(call.operands[0])
            else:
                one = self.loss_of_head(call) if self.may_give_loss(call) else self.look((call,))
            found = algebra.join(found, one)
        return found

    def loss_of_head(self, call: Value) -> Quantity:
        """The loss that one call of a library's model gives."""
        assert isinstance(call, Opaque)
        over = {head.mean_over for head in heads_of(call, self.vocabulary.layers)}
        mean = domain.part(0, gradient=True)
        if over == {"samples"}:
            return mean
        if over in ({"labels"}, {"next labels"}) and isinstance(call.node, cst.Call):
            shifted = over == {"next labels"}
            weighed = Pending(Duty.LABELS, call.node, call.module, shifted=shifted)
            return replace(mean, pending=frozenset({weighed}))
        return domain.unknown(IN_LIBRARY, whole=True)

    def is_whole(self, bound: Values) -> bool:
        """Whether a bound is the number of samples of a batch."""
        if self.is_batch_size(bound):
            return True
        return self.look(bound).degree == 1 and all(map(is_plain_size, bound))

    def item(self, value: Opaque) -> Quantity:
        """``base[index]`` or one part of what is unpacked."""
        if value.inner:
            found = self.look(value.inner)
            return self.from_model(found, value) if self.is_model_call(value.operands[0]) else found
        position = key_of(value)
        inner = inner_entries(value.operands[0], position)
        if inner:
            return self.look(inner)
        if self.is_beside_settings(value.operands[0], position):
            return replace(domain.unknown(UNSET), sampled=False)
        if position in (0, "loss") and any(map(self.may_give_loss, value.operands[0])):
            return self.loss_given(value.operands[0])
        if position == 0 and value.operands[0] and all(map(is_pair, value.operands[0])):
            return domain.equal(tensor=False)
        base = self.look(value.operands[0])
        laid = self.position_in_batch(value)
        if laid is not None:
            return domain.sample(dim=laid, rank=1)
        if base.kind is Kind.SHAPE:
            if isinstance(position, int):
                if not base.may_count_along(position):
                    return domain.equal(tensor=False)
                if position != base.dim:
                    return domain.unknown(SOME_SIZE)
                return domain.part(1).number() if base.selection else domain.count()
            return sizes_behind(base, value.node, self.plan)
        if base.kind is not Kind.SAMPLE:
            if base.independent or isinstance(position, str):
                index = self.look(value.index)
                if index.kind is Kind.SAMPLE:
                    by_place = index.content == "place" and not self.in_model(value)
                    if by_place and self.are_rows_alike(value.operands[0]):
                        by_place = False
                    content = "place" if by_place else ""
                    return domain.sample(base.gradient, dim=index.dim, content=content)
                why = self.picked_by_share(value, index)
                if why and not isinstance(position, str) and not self.in_model(value):
                    return domain.unknown(why)
            if base.independent and self.cut_by_count(value):
                if not self.in_model(value):
                    return domain.sample(base.gradient, content="place")
            return base
        if takes_by_place(
            base, value, self.plan, self.is_whole, self.is_joined, self.repeats_each
        ) and not self.in_model(value):
            return domain.unknown(BY_PLACE, certain=True)
        index = self.look(value.index)
        sampled = index.kind is Kind.SAMPLE or (index.kind is Kind.UNKNOWN and index.sampled)
        picked = sampled or has_several(value.node) or takes_several(value.index, self.plan)
        if isinstance(position, str) or (self.is_collection(value.operands[0]) and not picked):
            # A recurrent layer's last states are one for each sample, however it was packed.
            states = position not in (None, 0) and self.is_model_call(value.operands[0])
            dim = 1 if self.recurrent_part(value).is_state else base.dim
            return replace(base, selection=base.selection and not states, dim=dim)
        if isinstance(value.node, cst.Subscript):
            if is_cut_by_share(self.plan, self.look, base, value.node):
                return domain.unknown(CUT_BY_SHARE, certain=True)
            return indexed(base, value.node, self.plan, self.look)
        return domain.unknown(PIECES)

    def is_beside_settings(self, base: Values, key: object) -> bool:
        """Whether dicts that hold no samples are asked for a key before the script sets it.

        What stands there is none of what it sets, as a size of batches that it computes.
        """
        if key is None or not base:
            return False
        for value in base:
            if not isinstance(value, Mapping) or value.computed:
                return False
            for values in (*(entry.values for entry in value.entries.values()), value.rest):
                held = self.look(values)
                if held.kind not in (Kind.NOTHING, Kind.EQUAL) and (
                    held.kind is not Kind.UNKNOWN or held.sampled
                ):
                    return False
        return True


def sizes_behind(shape: Quantity, node: cst.CSTNode, plan: Plan) -> Quantity:
    """A slice of a shape: without the number of samples, or perhaps with it."""
    part = node.slice[0].slice if isinstance(node, cst.Subscript) else None
    start = part.lower if isinstance(part, cst.Slice) else None
    constant = only_constant(plan.facts.values_of(start)) if start is not None else None
    if constant is not None and isinstance(constant.value, int) and shape.dim is not None:
        if constant.value > shape.dim:
            return domain.equal(tensor=False)
    return replace(shape, tensor=False)


UNSET = "the script sets nothing under this key"
IN_LIBRARY = "it is computed inside a model that cannot be analysed"


def is_access(value: Value) -> bool:
    """Whether a value is an attribute of another."""
    return isinstance(value, Opaque) and value.kind == "attribute"


def is_view(value: Value, words: frozenset[str] = VIEWS) -> bool:
    """Whether a value is what a method of a dict gives of its entries."""
    return isinstance(value, Opaque) and any(
        word in words and not value.arguments.items for word, _ in method_calls(value)
    )


def is_pair(value: Value) -> bool:
    """Whether a value is a key with what a dict holds under it."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and bool(value.operands[0])
        and all(is_view(source, PAIRS) for source in value.operands[0])
    )


def has_several(node: cst.CSTNode) -> bool:
    """Whether ``base[first, second]`` has several indices, which only a tensor takes."""
    return isinstance(node, cst.Subscript) and len(node.slice) > 1


def key_of(value: Opaque) -> object:
    """The name of an attribute, or the key or position of an item; None where it is not known."""
    if value.kind == "attribute":
        return value.name
    constant = value.index[0] if len(value.index) == 1 else None
    return constant.value if isinstance(constant, Constant) else None


def inner_entries(base: Values, key: object) -> Values:
    """What a model's own code put under a key or attribute of what it returned."""
    found: list[Value] = []
    for value in base:
        for inside in value.inner if isinstance(value, Opaque) else ():
            found.extend(entry_of(inside, key))
    return tuple(found)


def entry_of(inside: Value, key: object) -> Values:
    """What stands under a key, a place or an attribute; empty where that is not known."""
    if isinstance(inside, Mapping) and key in inside.entries:
        return inside.entries[key].values
    if isinstance(inside, Sequence) and isinstance(key, int) and not inside.rest:
        if -len(inside.elements) <= key < len(inside.elements):
            return inside.elements[key]
    if isinstance(inside, Instance) and isinstance(key, str) and key in inside.attributes:
        return inside.attributes[key]
    if isinstance(inside, Opaque) and is_joined(inside) and isinstance(key, int) and key >= 0:
        return tuple(one for first in inside.operands[0] for one in entry_of(first, key))
    return ()
