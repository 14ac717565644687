"""The analysis itself: quantities of the nodes of the value graph, to a fixed point."""

from __future__ import annotations

from collections.abc import Iterable, Set
from fractions import Fraction

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
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
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, parents, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import enters_wrapper
from transpile.plan.views import behind_views
from transpile.records import replace

from . import algebra, domain
from .accesses import inner_entries, key_of
from .contents import COUNTED, index_nodes, places
from .domain import NOTHING, Kind, Quantity
from .keepers import HANDED_ON, given_in, is_keeper
from .models.classes import model_classes, model_code
from .models.parts import said_by_parts
from .models.passes import pass_alone
from .objects import UNFOLLOWED, held_by_objects
from .operators import holds_places
from .row_sizes.meeting import PAIRED, pairs_samples
from .row_sizes.reader import rows_of_view
from .sample_axis.axes import CROSSED, crossed
from .sample_axis.beside import BESIDE, is_given_places, lies_beside_all
from .sample_axis.collation import collated, is_stacked, stacked_in
from .sample_axis.mixing import MIXED, is_mixed, parts_returned
from .sample_axis.pieces import BY_PLACE, handed, indexed_stores, is_number, sets_by_place
from .sample_axis.shapes import Given
from .settling import Settling, simple
from .starts import starts_at_zero
from .tensors.in_place import changed_in_place, written_in
from .tensors.items import with_items

FROM_THE_START = "sums over the batch are added to numbers that it starts from"


class Supposing(Settling):
    """The quantities of one plan's values; asked for one, it settles all that this depends on.

    It supposes that models keep the samples of a batch apart where it does not know.

    Args:
        plan: the plan.
        scaled: operands that are multiplied by the number of processes, by the identity of their
            node, to its power.
        whole: take numbers that leave the tensors, and numbers of samples, as those of the global
            batch: what would be seen once all of them are.
        reduced: the identities of expressions that are taken over all processes.
    """

    def __init__(
        self,
        plan: Plan,
        scaled: dict[int, int] | None = None,
        whole: bool = False,
        reduced: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(plan, scaled, whole, reduced)
        self.layouts = {id(each.value): collated(plan, each) for each in plan.training_loaders}
        self.collating = stacked_in(plan)
        self.models = {id(model.value) for model in plan.models}
        self.learned = {id(one) for each in plan.optimizers for one in each.tensors}
        self.code = model_code(plan)
        self.stored = stored_values(plan)
        self.places = places(plan)
        self.indexed_stores = indexed_stores(plan)
        #: The passes whose parameters are samples, to the dimension that counts them.
        self.passes: dict[int, int] = {}
        #: What passes give, by the layer, the dimension of its samples, and the passes around it.
        self.given_by_passes: dict[tuple[object, ...], Quantity] = {}

    def is_part_of_count(self, bound: cst.BaseExpression) -> bool:
        """Whether a bound is computed from how many samples there are, such as half of them."""
        values = self.plan.facts.values_of(bound)
        if only_constant(values) is not None and not self.is_batch_size(values):
            return is_number(values)
        return self.counts_samples(values) and not self.is_whole(values)

    def laid_out(self, value: Value) -> dict[object, int]:
        """Where the tensors of a batch count samples, where a collate function decides it."""
        if not isinstance(value, Opaque) or value.kind != "element":
            return {}
        for source in value.operands[0]:
            for behind in walk_back((source,), enters_wrapper):
                if id(behind) in self.training:
                    return self.layouts.get(id(behind), {})
        return {}

    def loader_of(self, values: Values) -> Loader | None:
        """The one training loader that a batch is of; None where there are several."""
        found = {
            id(behind)
            for value in values
            if isinstance(value, Opaque) and value.kind == "element"
            for source in value.operands[0]
            for behind in walk_back((source,), enters_wrapper)
            if id(behind) in self.training
        }
        loaders = [one for one in self.plan.training_loaders if id(one.value) in found]
        return loaders[0] if len(loaders) == 1 else None

    def position_in_batch(self, value: Opaque) -> int | None:
        """Where a part of a batch counts samples, for a tensor that a collate function makes."""
        constant = value.index[0] if len(value.index) == 1 else None
        if len(value.operands[0]) != 1 or not isinstance(constant, Constant):
            return None
        return self.laid_out(value.operands[0][0]).get(constant.value)

    def collated_part(self, value: Value) -> Values:
        """What a collate function of the project gives for a part of a batch; empty for others."""
        if not isinstance(value, Opaque) or value.kind not in ("item", "element"):
            return ()
        batch = value.operands[0] if value.kind == "item" else (value,)
        loader = self.loader_of(batch)
        if loader is None:
            return ()
        parts = parts_returned(self.plan, loader)
        if value.kind == "element":
            return parts.get(None, ())
        return parts.get(key_of(value), ())

    def dependencies(self, value: Value) -> Iterable[Values]:
        """The groups of values that the quantity of a value is made of."""
        yield from parents(value)
        yield self.stored.get(id(value), ())
        yield from (placed.by for placed in self.places.get(id(value), ()))
        yield said_by_parts(self.plan, value)
        yield held_by_objects(self.plan, value)
        yield self.collated_part(value)
        if isinstance(value, Opaque) and value.kind in ("attribute", "item"):
            yield inner_entries(value.operands[0], key_of(value))
        if isinstance(value, Opaque) and type(value.node) is cst.Subscript:
            for node in index_nodes(value.node):
                yield self.plan.facts.values_of(node)

    def batch_of(self, value: Value) -> bool | None:
        """Whether a value is a batch of a training loader (True) or another (False); else None."""
        if not isinstance(value, Opaque) or value.kind != "element":
            return None
        found: bool | None = None
        for source in value.operands[0]:
            for behind in walk_back((source,), enters_wrapper):
                if id(behind) in self.training:
                    return True
                if id(behind) in self.loaders:
                    found = False
        return found

    def transfer(self, value: Value) -> Quantity:
        """The quantity of a value from those of what it is made of."""
        if isinstance(value, Opaque) and id(value.node) in self.reduced:
            return domain.equal()
        found = self.transfer_one(value)
        if found.kind in (Kind.SAMPLE, Kind.PART) and isinstance(value, Opaque):
            if crossed(self, value):
                found = domain.unknown(CROSSED, whole=found.kind is Kind.PART, certain=True)
            elif lies_beside_all(self, value):
                found = domain.unknown(BESIDE, whole=found.kind is Kind.PART, certain=True)
            elif pairs_samples(self, value):
                found = domain.unknown(PAIRED, whole=found.kind is Kind.PART, certain=True)
            elif is_given_places(self, value):
                found = domain.unknown(algebra.NUMBERED)
        if found.kind is Kind.SAMPLE and is_mixed(self, self.collated_part(value)):
            found = domain.unknown(MIXED, certain=True)
        if id(value) in self.stored and found.independent:
            kept = self.kept_numbers(self.stored[id(value)])
            if kept.kind is Kind.PART and max(kept.degrees) > 0 and not starts_at_zero(value):
                kept = domain.unknown(FROM_THE_START, whole=True)
            if kept.kind is Kind.SAMPLE and is_keeper(value) and id(value) not in self.places:
                kept = domain.unknown(HANDED_ON, whole=True)
            # Numbers that are kept in an array or a dict of numbers; not what fills up a batch.
            if kept.kind in (Kind.PART, Kind.UNKNOWN) or kept.pending:
                names = called_names(value)
                array = any(name.startswith("numpy.") for name in names)
                tensor = any(name.startswith(self.vocabulary.tensors) for name in names)
                found = replace(kept, tensor=tensor or (kept.tensor and not array))
        if found.kind is Kind.SAMPLE and any(
            sets_by_place(found, node, self.is_part_of_count)
            for node in self.indexed_stores.get(id(value), ())
        ):
            found = domain.unknown(BY_PLACE)
        if found.independent:
            asked = self.look(held_by_objects(self.plan, value))
            if asked.kind in (Kind.SAMPLE, Kind.PART, Kind.UNKNOWN) or asked.pending:
                found = domain.unknown(UNFOLLOWED, whole=True)
        filled = self.filled_by_samples(value)
        if filled is not None and (
            found.kind in (Kind.NOTHING, Kind.EQUAL, Kind.PART) or not isinstance(value, Opaque)
        ):
            return filled
        found = with_items(found, value, self.look_one)
        if id(value) in self.reductions and found.kind is not Kind.UNKNOWN:
            found = self.all_reduced(found, value, self.reductions[id(value)])
        if self.whole and found.kind is Kind.EQUAL and not found.tensor:
            found = domain.equal(tensor=False)
        if (
            found.kind is Kind.UNKNOWN
            and not found.whole
            and not found.certain
            and isinstance(value, Opaque)
            and self.in_model(value)
        ):
            return self.in_model_code(value, found)
        return found

    def in_model_code(self, value: Opaque, found: Quantity) -> Quantity:
        """What a value in the code of a model is, of which nothing is known without the model."""
        if found.sampled:
            return domain.sample(gradient=True, dim=None)
        return domain.equal(gradient=True)

    def kept_numbers(self, values: Values) -> Quantity:
        """What an array holds that values are put into; it is reduced as a whole, or not at all."""
        found = NOTHING
        numbers = linear = False
        for value in values:
            one = self.look_one(value)
            numbers = numbers or (one.kind is Kind.EQUAL and bool(one.pending))
            if one.kind is Kind.EQUAL and one.degree and not one.pending and not self.whole:
                # The numbers of samples of all processes are the sum of those of each.
                one = replace(one, kind=Kind.PART)
            linear = linear or one.kind is Kind.PART
            found = algebra.join(found, one)
        if numbers and linear:
            return domain.unknown(
                "it holds numbers of one process beside those of all processes", whole=True
            )
        return found

    def rows_of_view(self, value: Opaque, given: Given) -> Fraction | None:
        """How many rows a view of samples has for each of them; None if unknown."""
        return rows_of_view(self, value, handed(value), given)

    def stacks(self, value: Opaque) -> bool:
        """Whether a collate function makes a tensor of samples by a value, and of none yet."""
        if id(value.node) not in self.collating:
            return False
        if not is_stacked(value, self.vocabulary.batching):
            return False
        first = value.arguments.items[0].values if value.arguments.items else ()
        given = self.look(first)
        return given.kind not in (Kind.SAMPLE, Kind.PART) and not (
            given.kind is Kind.UNKNOWN and given.sampled
        )

    def filled_by_samples(self, value: Value) -> Quantity | None:
        """A container whose contents depend on where samples put them, or on whether they do."""
        for placed in self.places.get(id(value), ()):
            by = self.look(placed.by)
            counts = by.kind is Kind.EQUAL and by.degree != 0
            unsure = by.kind is Kind.UNKNOWN and (by.sampled or by.whole)
            if by.kind is Kind.SAMPLE or counts or unsure:
                return domain.unknown(f"{COUNTED} in line {placed.line}", whole=True)
        return None

    def transfer_one(self, value: Value) -> Quantity:
        """The quantity of a value before it is seen in its surroundings."""
        if id(value) in self.plan.samples:
            return domain.sample(dim=self.plan.samples[id(value)])
        if id(value) in self.learned:
            return domain.equal(gradient=True)
        if isinstance(value, (Sequence, Mapping)):
            return self.contents(value)
        if isinstance(value, Generator):
            return self.look(value.yields)
        if not isinstance(value, Opaque):
            return simple(value, self.plan)
        if self.vocabulary.samples and self.vocabulary.samples & set(called_names(value)):
            kept = self.vocabulary.parameter
            return domain.equal(gradient=True) if kept and kept(value) else domain.sample()
        if self.stacks(value):
            return domain.sample()
        if value.kind == "operation":
            return self.operation(value)
        if value.kind == "filling":
            return self.look(value.operands[0]).without_gradient()
        if value.kind == "call":
            return self.call(value)
        if value.kind == "attribute":
            return self.attribute(value)
        if value.kind == "item":
            found = self.item(value)
            if holds_places(value) and self.look(value.operands[0]).kind is Kind.SAMPLE:
                return domain.selected_places()
            return found
        if value.kind == "element":
            return self.element(value)
        if value.kind == "parameter" and id(value.node) in self.passes:
            return domain.sample(dim=self.passes[id(value.node)])
        return replace(domain.unknown(f"nothing is known of '{value.name}'"), sampled=False)

    def of_pass(self, layer: Instance, dim: int) -> Quantity:
        """What the pass of a layer of the project gives for samples along a dimension."""
        return pass_alone(self, layer, dim)

    def contents(self, value: Sequence | Mapping) -> Quantity:
        """What a container holds, as alternatives."""
        if isinstance(value, Sequence):
            groups = [*value.elements, value.rest]
        else:
            groups = [*(entry.values for entry in value.entries.values()), value.rest]
        found = NOTHING
        for group in groups:
            found = algebra.join(found, self.look(group))
        if found.kind is Kind.EQUAL and self.is_picked_by_samples(value):
            return domain.sample()
        return found

    def is_picked_by_samples(self, value: Value) -> bool:
        """Whether samples of a batch decide which elements of others a list holds."""
        if not isinstance(value, Sequence) or not value.picked:
            return False
        by = self.look(value.picked)
        return by.kind is Kind.SAMPLE or (by.kind is Kind.UNKNOWN and by.sampled)

    def in_model(self, value: Opaque) -> bool:
        """Whether a value is made by the code of a model."""
        return self.is_model_code(value.module, value.node)

    def is_model_code(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of the class of a model."""
        return self.code.holds(module, node)

    def known_models(self) -> Set[int]:
        """The class definitions of models."""
        return model_classes(self.plan)


@query
def stored_values(plan: Plan) -> dict[int, Values]:
    """What is stored into each array or dict by its identity: by index, or by methods in place."""
    found: dict[int, list[Value]] = {}
    for event in plan.facts.events:
        stores = event.kind == "store" and event.name == "[]"
        for base in holders(event.callee) if stores else changed_in_place(event):
            if isinstance(base, Opaque):
                found.setdefault(id(base), []).extend(written_in(event))
        if event.kind == "store" and event.name == "data":
            for base in event.callee:
                if isinstance(base, Opaque):
                    found.setdefault(id(base), []).extend(event.result)
        if event.kind == "operate" and is_of_loop(event):
            # Of a tensor this changes what the list holds, and no name alone.
            for base in event.callee:
                if isinstance(base, Opaque):
                    found.setdefault(id(base), []).extend(event.result)
        for given in given_in(event):
            found.setdefault(id(given.keeper), []).extend(given.values)
    return {key: tuple(values) for key, values in found.items()}


def is_of_loop(event: Event) -> bool:
    """Whether an augmented assignment changes what a loop around it takes out of something."""
    target = getattr(event.node, "target", None)
    if not isinstance(target, cst.Name):
        return False
    for outer in event.module.source.parents(event.node):
        if isinstance(outer, cst.For):
            names = (one for one in descendants(outer.target) if isinstance(one, cst.Name))
            if any(name.value == target.value for name in names):
                return True
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            break
    return False


def holders(values: Values) -> Iterable[Opaque]:
    """Values, and what they are items or views of."""
    return (one for one in behind_views(values) if isinstance(one, Opaque))
