"""The quantities of what operators give, and of lengths."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import (
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.facts.values import join as join_values
from transpile.plan.data.made_of import of_loaders
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.records import replace

from . import algebra, domain
from .accesses import Accesses
from .contents import COUNTED
from .domain import NOTHING, Duty, Kind, Pending, Quantity
from .joined import is_joined
from .sample_axis.pieces import leaves_out
from .sample_axis.shapes import PIECES, SOME_SIZE
from .starts import starts_at_zero
from .tensors.products import matrix_product

DEQUE = External("collections.deque")


class Operators(Accesses):
    """Adds operators and the builtins that the facts model as such.

    Args:
        plan: the plan.
        scaled: operands that are multiplied by the number of processes, by the identity of their
            node, to its power.
        whole: take numbers that leave the tensors as those of the global batch.
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
        self.sums_of_tuples: dict[int, bool] = {}

    def operation(self, value: Opaque) -> Quantity:
        """An operator, or a builtin that the facts model as one."""
        name = value.name
        if name == "Add" and id(value) not in self.sums_of_tuples:
            self.sums_of_tuples[id(value)] = is_joined(value)
        if name == "Add" and self.sums_of_tuples[id(value)]:
            return self.look(join_values(*value.operands))
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
            return self.power(self.look(value.operands[0]), value.operands[1], value.operands[0])
        if name == "MatrixMultiply":
            return matrix_product(self.look(value.operands[0]), self.look(value.operands[1]))
        if name in ("Minus", "Plus"):
            return self.look(value.operands[0])
        if name == "len":
            return self.length(value)
        if name in ("index", "isinstance", "hasattr", "yield"):
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
        operand = containers_of_calls(value.operands[0])
        if any(id(one) in self.loaders for one in operand):
            return domain.equal(tensor=False)
        told = self.look(value.inner)
        differs = told.kind not in (Kind.NOTHING, Kind.EQUAL) or told.degrees - {0}
        if value.inner and differs:
            # The class of the script says what the length of its objects is.
            return told
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
            if any(map(self.lists_samples, operand)) and not any(map(leaves_out, operand)):
                return domain.count()
            single = any(
                self.look_one(one).reason == PIECES
                for container in operand
                for one in container.every()  # type: ignore[union-attr]
            )
            if single and any(self.holds_one_of_each(one) for one in operand):
                return domain.unknown("it counts something of each batch, or sample", whole=True)
            if single and any(is_limited(self.plan, one) for one in operand):
                return domain.unknown("it counts samples up to a limit", whole=True)
            if single and any(map(leaves_out, operand)):
                return domain.unknown("it counts the samples that are picked", whole=True)
            if single and any(self.look(one.every()).selection for one in operand):  # type: ignore[union-attr]
                return domain.part(1).number()
            return domain.count() if single else domain.equal(tensor=False)
        held = self.look(operand)
        if held.kind is not Kind.SAMPLE:
            # A data set that is told what training gives is made of batches, too.
            if operand and all(id(one) in of_loaders(self.plan) for one in operand):
                return domain.equal(tensor=False)
        counted = self.counted(held, 0)
        if counted.degree == 1 and any(holds_places(one) for one in operand):
            # So many samples of the share are picked.
            return domain.part(1).number()
        return counted

    def lists_samples(self, value: Value) -> bool:
        """Whether a list is a batch that is cut out of a list, or rows that are picked by one."""
        return id(value) in self.plan.samples or self.is_picked_by_samples(value)

    def holds_one_of_each(self, container: Value) -> bool:
        """Whether entries may come once for each batch: lists of its samples, or one of them."""
        entries = container.every() if isinstance(container, (Sequence, Mapping)) else ()
        for entry in walk_back(entries, lambda one: self.look_one(one).kind is not Kind.SAMPLE):
            if isinstance(entry, Sequence) and not isinstance(entry.node, (cst.Tuple, cst.List)):
                return True
            if isinstance(entry, Opaque) and entry.kind == "item":
                picked = self.look_one(entry).kind is not Kind.SAMPLE
                if picked and only_constant(entry.index) is not None:
                    if self.look(entry.operands[0]).kind is Kind.SAMPLE:
                        return True
        return False

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


def containers_of_calls(values: Values) -> Values:
    """Values, with the lists and dicts that models of the project give in place of their calls."""
    found: list[Value] = []
    for value in values:
        inner = value.inner if isinstance(value, Opaque) and value.kind == "call" else ()
        listed = inner and all(isinstance(one, (Sequence, Mapping)) for one in inner)
        found.extend(inner if listed else (value,))
    return tuple(found)


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


def is_limited(plan: Plan, value: Value) -> bool:
    """Whether a container drops entries once it holds a number of them: ``deque(maxlen=...)``."""
    node = value.node if isinstance(value, Sequence) else None
    if not isinstance(node, cst.Call) or DEQUE not in plan.facts.values_of(node.func):
        return False
    return len(node.args) > 1 or any(
        one.keyword is not None and one.keyword.value == "maxlen" for one in node.args
    )


def right_operand(node: cst.CSTNode) -> cst.CSTNode:
    """The right side of a binary operator or an augmented assignment."""
    if isinstance(node, cst.BinaryOperation):
        return node.right
    if isinstance(node, cst.AugAssign):
        return node.value
    return node
