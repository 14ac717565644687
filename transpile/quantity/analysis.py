"""The analysis itself: quantities of the nodes of the value graph, to a fixed point."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    Generator,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
    WorldSize,
    only_constant,
)
from transpile.facts.values import join as join_values
from transpile.plan.data.made_of import of_loaders
from transpile.plan.graph import called_names, is_instance_of, method_calls, parents, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import enters_wrapper
from transpile.records import replace

from . import algebra, domain
from .accesses import Accesses, inner_entries, key_of
from .collation import collated, is_stacked, stacked_in
from .contents import COUNTED, index_nodes, places
from .domain import NOTHING, Duty, Kind, Pending, Quantity
from .in_place import changed_in_place
from .model_classes import find_model_classes, training_functions
from .pieces import BY_PLACE, indexed_stores, leaves_out, sets_by_place
from .products import matrix_product
from .shapes import PIECES, SOME_SIZE
from .starts import starts_at_zero

#: Passes over a cycle after which what still changes counts as unknown.
MOST_PASSES = 12
FROM_THE_START = "sums over the batch are added to numbers that it starts from"
#: Constants up to this size only keep a denominator from zero.
TINY = 1e-3


class Supposing(Accesses):
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
        super().__init__(plan, whole)
        self.scaled = scaled or {}
        self.reduced = reduced
        self.table: dict[int, Quantity] = {}
        self.settled: set[int] = set()
        self.looked_ahead = False
        #: What is, or is being, settled; and what was looked at though it is neither.
        self.ordered: set[int] = set()
        self.missed: list[Value] = []
        self.kept: list[Value] = []
        self.layouts = {id(each.value): collated(plan, each) for each in plan.training_loaders}
        self.collating = stacked_in(plan)
        self.models = {id(model.value) for model in plan.models}
        self.model_classes = set(find_model_classes(plan))
        self.training_functions = training_functions(plan)
        self.inside: dict[int, bool] = {}
        self.stored = stored_values(plan)
        self.places = places(plan)
        self.indexed_stores = indexed_stores(plan)

    # Asking.

    def of(self, values: Values) -> Quantity:
        """The quantity of an expression that may be any of the values."""
        self.settle(values)
        return self.look(values)

    def look(self, values: Values) -> Quantity:
        """The quantity of alternatives, as far as it is settled."""
        found = NOTHING
        for value in values:
            found = algebra.join(found, self.look_one(value))
        return found

    def look_one(self, value: Value) -> Quantity:
        """The quantity of one value, as far as it is settled."""
        if isinstance(value, (Opaque, Sequence, Mapping, Generator)):
            found = self.table.get(id(value))
            if found is None:
                self.looked_ahead = True
                if id(value) not in self.ordered:
                    # Nothing is not what it is, but what it is taken for until it is settled, too.
                    self.missed.append(value)
                return NOTHING
            return found
        return simple(value, self.plan)

    def forget(self) -> None:
        """Settle everything anew."""
        self.table.clear()
        self.settled.clear()
        self.ordered.clear()

    # Settling.

    def settle(self, values: Values) -> None:
        """Find the quantities of the values and of all that they depend on."""
        order = list(self.unsettled(values))
        self.ordered.update(map(id, order))
        changing: list[Value] = []
        for number in range(MOST_PASSES):
            changing = []
            self.looked_ahead = False
            if self.missed:
                more = [one for one in self.unsettled(tuple(self.missed)) if self.adds(one)]
                order = [*more, *order]
                self.missed = []
            for value in order:
                found = self.transfer(value)
                if found != self.table.get(id(value)):
                    self.table[id(value)] = found
                    changing.append(value)
            if number == 0 and not self.looked_ahead:
                # Each was behind all that it depends on: another pass would find the same.
                changing = []
            if not changing and not self.missed:
                break
        for value in changing:
            self.table[id(value)] = domain.unknown("it grows with each pass of a loop", whole=True)
        if changing:
            for value in order:
                if not any(value is other for other in changing):
                    self.table[id(value)] = self.transfer(value)
        self.kept.extend(order)
        self.settled.update(id(value) for value in order)

    def adds(self, value: Value) -> bool:
        """Note a value among those that are being settled; False where it was one of them."""
        if id(value) in self.ordered:
            return False
        self.ordered.add(id(value))
        return True

    def unsettled(self, values: Values) -> Iterable[Value]:
        """What must be settled for the values, each behind what it depends on where possible."""
        seen: set[int] = set()
        stack: list[tuple[Value, bool]] = [(value, False) for value in reversed(values)]
        while stack:
            value, left = stack.pop()
            if left:
                yield value
                continue
            if id(value) in seen or id(value) in self.settled:
                continue
            seen.add(id(value))
            if not isinstance(value, (Opaque, Sequence, Mapping, Generator)):
                continue
            stack.append((value, True))
            if id(value) not in self.plan.samples and self.batch_of(value) is None:
                for group in self.dependencies(value):
                    stack.extend((other, False) for other in group)

    def laid_out(self, value: Value) -> dict[object, int]:
        """Where the tensors of a batch count samples, where a collate function decides it."""
        if not isinstance(value, Opaque) or value.kind != "element":
            return {}
        for source in value.operands[0]:
            for behind in walk_back((source,), enters_wrapper):
                if id(behind) in self.training:
                    return self.layouts.get(id(behind), {})
        return {}

    def position_in_batch(self, value: Opaque) -> int | None:
        """Where a part of a batch counts samples, for a tensor that a collate function makes."""
        constant = value.index[0] if len(value.index) == 1 else None
        if len(value.operands[0]) != 1 or not isinstance(constant, Constant):
            return None
        return self.laid_out(value.operands[0][0]).get(constant.value)

    def dependencies(self, value: Value) -> Iterable[Values]:
        """The groups of values that the quantity of a value is made of."""
        yield from parents(value)
        yield self.stored.get(id(value), ())
        yield from (placed.by for placed in self.places.get(id(value), ()))
        if isinstance(value, Opaque) and value.kind in ("attribute", "item"):
            yield inner_entries(value.operands[0], key_of(value))
        if isinstance(value, Opaque) and type(value.node) is cst.Subscript:
            for node in index_nodes(value.node):
                yield self.plan.facts.values_of(node)

    # The graph.

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
        if id(value) in self.stored and found.independent:
            kept = self.kept_numbers(self.stored[id(value)])
            if kept.kind is Kind.PART and max(kept.degrees) > 0 and not starts_at_zero(value):
                kept = domain.unknown(FROM_THE_START, whole=True)
            # Numbers that are kept in an array or a dict of numbers; not what fills up a batch.
            if kept.kind in (Kind.PART, Kind.UNKNOWN) or kept.pending:
                names = called_names(value)
                array = any(name.startswith("numpy.") for name in names)
                tensor = any(name.startswith(self.vocabulary.tensors) for name in names)
                found = replace(kept, tensor=tensor or (kept.tensor and not array))
        if found.kind is Kind.SAMPLE and any(
            sets_by_place(found, node) for node in self.indexed_stores.get(id(value), ())
        ):
            found = domain.unknown(BY_PLACE)
        filled = self.filled_by_samples(value)
        if filled is not None and (
            found.kind in (Kind.NOTHING, Kind.EQUAL, Kind.PART) or not isinstance(value, Opaque)
        ):
            return filled
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
        if isinstance(value, (Sequence, Mapping)):
            return self.contents(value)
        if isinstance(value, Generator):
            return self.look(value.yields)
        if not isinstance(value, Opaque):
            return simple(value, self.plan)
        if self.vocabulary.samples and self.vocabulary.samples & set(called_names(value)):
            return domain.sample()
        if id(value.node) in self.collating and is_stacked(value, self.vocabulary.batching):
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
        return replace(domain.unknown(f"nothing is known of '{value.name}'"), sampled=False)

    def contents(self, value: Sequence | Mapping) -> Quantity:
        """What a container holds, as alternatives."""
        if isinstance(value, Sequence):
            groups = [*value.elements, value.rest]
        else:
            groups = [*(entry.values for entry in value.entries.values()), value.rest]
        found = NOTHING
        for group in groups:
            found = algebra.join(found, self.look(group))
        return found

    def in_model(self, value: Opaque) -> bool:
        """Whether a value is made by the code of a model."""
        return self.is_model_code(value.module, value.node)

    def is_model_code(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a place is part of the class of a model."""
        key = id(node)
        if key not in self.inside:
            try:
                around = list(module.source.parents(node))
            except KeyError:
                around = []
            identities = {id(one) for one in (node, *around)}
            self.inside[key] = bool(identities & self.model_classes) and not (
                identities & self.training_functions
            )
        return self.inside[key]

    def known_models(self) -> set[int]:
        """The class definitions of models."""
        return self.model_classes

    # Kinds of nodes.

    def operation(self, value: Opaque) -> Quantity:
        """An operator, or a builtin that the facts model as one."""
        name = value.name
        if name in ("Add", "Subtract"):
            left, right = (self.unless_zero(operand) for operand in value.operands)
            if isinstance(value.node, cst.BinaryOperation):
                left = left.scaled(-self.scaled.get(id(value.node.left), 0))
            right = right.scaled(-self.scaled.get(id(right_operand(value.node)), 0))
            if id(right_operand(value.node)) in self.reduced:
                right = domain.equal(tensor=False)
            return self.added(value, left, right)
        if name == "Multiply":
            if any(only_constant(operand) == Constant(0) for operand in value.operands):
                if any(self.look(operand).kind is Kind.PART for operand in value.operands):
                    return NOTHING
            return algebra.multiply(self.look(value.operands[0]), self.look(value.operands[1]))
        if name == "FloorDivide":
            both = [self.look(operand) for operand in value.operands]
            sizes = all(one.kind is Kind.EQUAL and not one.pending for one in both)
            if not sizes or not algebra.divides_alike(*both):
                return algebra.nonlinear("a quotient without its remainder", *both)
        if name in ("Divide", "FloorDivide"):
            return algebra.divide(
                self.look(value.operands[0]),
                self.look(value.operands[1]),
                Pending(Duty.DENOMINATOR, right_operand(value.node), value.module),
            )
        if name == "Power":
            return self.power(self.look(value.operands[0]), value.operands[1])
        if name == "MatrixMultiply":
            return matrix_product(self.look(value.operands[0]), self.look(value.operands[1]))
        if name in ("Minus", "Plus"):
            return self.look(value.operands[0])
        if name == "len":
            return self.length(value)
        if name in ("index", "isinstance", "yield"):
            return domain.equal(tensor=False)
        if name in ("iterate", "filter", "enumerate", "zip"):
            return self.look(join_values(*value.operands))
        if name in ("And", "Or"):
            return self.look(join_values(*value.operands))
        if name in ("format", "concatenate", "getattr"):
            given = [self.look(operand) for operand in value.operands]
            return algebra.nonlinear("the text", *given)
        several = [self.look(operand) for operand in value.operands]
        if self.fit(value.operands):
            return domain.equal(tensor=False)
        found = algebra.nonlinear("a comparison", *several).without_gradient()
        return found

    def unless_zero(self, values: Values) -> Quantity:
        """A summand; what is certain to be zero everywhere counts as nothing."""
        found = NOTHING
        for value in values:
            one = self.look_one(value)
            if one.kind is Kind.EQUAL and one.independent and starts_at_zero(value):
                one = replace(NOTHING, tensor=one.tensor)
            found = algebra.join(found, one)
        return found

    def added(self, value: Opaque, left: Quantity, right: Quantity) -> Quantity:
        """A sum or difference in the text."""
        return algebra.add(left, right)

    def length(self, value: Opaque) -> Quantity:
        """``len(something)``."""
        operand = value.operands[0]
        if any(id(one) in self.loaders for one in operand):
            return domain.equal(tensor=False)
        for one in operand:
            if isinstance(one, Opaque) and one.kind == "attribute" and one.name == "sampler":
                if any(id(loader) in self.training for loader in one.operands[0]):
                    return domain.count()
        for one in operand:
            held = self.look_one(one)
            if held.reason.startswith(COUNTED):
                return held
            if is_set_of(one) and (held.kind is Kind.SAMPLE or held.sampled):
                return domain.unknown("it counts what is different among the samples", whole=True)
        if operand and all(isinstance(one, (Sequence, Mapping)) for one in operand):
            single = any(
                self.look_one(one).reason == PIECES
                for container in operand
                for one in container.every()  # type: ignore[union-attr]
            )
            if single and any(map(leaves_out, operand)):
                return domain.unknown("it counts the samples that are picked", whole=True)
            if single and any(self.look(one.every()).selection for one in operand):  # type: ignore[union-attr]
                return domain.part(1).number()
            return domain.count() if single else domain.equal(tensor=False)
        if operand and all(id(one) in of_loaders(self.plan) for one in operand):
            return domain.equal(tensor=False)
        counted = self.counted(self.look(operand), 0)
        if counted.degree == 1 and any(holds_places(one) for one in operand):
            # So many samples of the share are picked.
            return domain.part(1).number()
        return counted

    def counted(self, tensor: Quantity, position: int | None) -> Quantity:
        """The size of a tensor along a dimension, or its number of elements (None)."""
        if tensor.kind is Kind.SAMPLE:
            if position is not None and not tensor.may_count_along(position):
                return domain.equal(tensor=False)
            if position is not None and position != tensor.dim:
                return domain.unknown(SOME_SIZE)
            if tensor.selection:
                return domain.part(1).number()
            return domain.count()
        if tensor.kind is Kind.UNKNOWN and position in (0, None) and tensor.content != "one":
            return tensor.number()
        return domain.equal(tensor=False)


def is_set_of(value: Value) -> bool:
    """Whether a value is a set, or made of sets by their operators."""
    return any(
        isinstance(one, Sequence) and one.kind == "set"
        for one in walk_back(
            (value,),
            lambda each: isinstance(each, Opaque) and each.name in ("BitOr", "BitAnd", "BitXor"),
        )
    )


#: With a condition alone they tell where it holds.
PLACES = frozenset({"where", "nonzero"})


def holds_places(value: Value) -> bool:
    """Whether a value is one of the arrays of places where a condition holds."""
    return (
        isinstance(value, Opaque)
        and value.kind == "item"
        and any(
            isinstance(base, Opaque)
            and len(base.arguments.items) == 1
            and any(
                name.rpartition(".")[2] in PLACES
                for name in (*called_names(base), *(word for word, _ in method_calls(base)))
            )
            for base in value.operands[0]
        )
    )


def simple(value: Value, plan: Plan) -> Quantity:
    """The quantity of a value that is no node of the graph."""
    if isinstance(value, WorldSize):
        degree = 0 if plan.way == "calls" else -1
        return replace(domain.equal(degree, tensor=False), content=algebra.PROCESSES)
    if isinstance(value, Constant):
        if isinstance(value.value, (int, float)):
            if value.value == 0 and not isinstance(value.value, bool):
                return NOTHING
            tiny = abs(value.value) <= TINY
            small = not tiny and abs(value.value) <= 1
            return replace(domain.equal(tensor=False), tiny=tiny, small=small)
        return NOTHING if value.value is None else domain.equal(tensor=False)
    if isinstance(value, Unknown):
        if value.reason.endswith("calls itself"):
            # What a function gives where it calls itself is what it gives otherwise.
            return NOTHING
        return replace(domain.unknown(value.reason), sampled=False)
    gradient = is_instance_of(value, plan.table.module_bases)
    return domain.equal(gradient=gradient)


@query
def stored_values(plan: Plan) -> dict[int, Values]:
    """What is stored into each array or dict by its identity: by index, or by methods in place."""
    found: dict[int, list[Value]] = {}
    for event in plan.facts.events:
        stores = event.kind == "store" and event.name == "[]"
        for base in holders(event.callee) if stores else changed_in_place(event):
            if isinstance(base, Opaque):
                found.setdefault(id(base), []).extend(event.result)
    return {key: tuple(values) for key, values in found.items()}


def holders(values: Values) -> Iterable[Opaque]:
    """Values, and the containers that they are items of."""
    return (
        one
        for one in walk_back(values, lambda each: isinstance(each, Opaque) and each.kind == "item")
        if isinstance(one, Opaque)
    )


def right_operand(node: cst.CSTNode) -> cst.CSTNode:
    """The right side of a binary operator or an augmented assignment."""
    if isinstance(node, cst.BinaryOperation):
        return node.right
    if isinstance(node, cst.AugAssign):
        return node.value
    return node
