"""The bounds of a slice that moves on with a loop: ``data[i : i + size]`` and its like."""

from __future__ import annotations

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.values import Constant, Opaque, Value, Values, join, only_constant
from transpile.plan.graph import called_names, walk_back
from transpile.records import dataclass

RANGES = frozenset({"builtins.range", "tqdm.trange"})
STRANGE = (
    "what each step trains on is cut out of the data in another way than one batch behind the "
    "other, as in data[i : i + size] with steps of that size: the first dimension may count time, "
    "not samples"
)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where a slice begins and ends.

    Args:
        lower, upper: the values of its bounds; empty where there is none.
        step: whether it leaves out entries.
    """

    lower: Values
    upper: Values
    step: bool

    @classmethod
    def of(cls, facts: Facts, part: cst.Slice) -> Bounds:
        """The bounds as the script evaluates them."""
        lower = facts.values_of(part.lower) if part.lower is not None else ()
        upper = facts.values_of(part.upper) if part.upper is not None else ()
        return cls(lower, upper, part.step is not None)

    def depends_on_rank(self, rank_calls: frozenset[str]) -> bool:
        """Whether each process cuts out another part."""
        return any(
            name in rank_calls
            for value in walk_back((*self.lower, *self.upper))
            for name in called_names(value)
        )

    def moves(self) -> bool:
        """Whether the slice moves on with a loop."""
        return any(is_moving(value) for value in walk_back((*self.lower, *self.upper)))

    def irregular(self) -> str:
        """Why the slices are no batches, one behind the other; empty where they are."""
        if self.step or not self.lower:
            return STRANGE
        return "" if self.size() is not None else STRANGE

    def size(self) -> Values | None:
        """The size of a batch; None where the slices do not lie one behind the other.

        A function that several call with batches of their own size has several.
        """
        sizes: list[Values] = []
        moving = [value for value in self.lower if not isinstance(value, Constant)]
        strides = [(value, stride_of(value)) for value in moving]
        for _, stride in strides:
            if stride is None:
                return None
            sizes.append(stride)
        for value in self.upper:
            if not any(is_moving(inner) for inner in walk_back((value,))):
                continue
            if not any(stride and reaches(value, lower, stride) for lower, stride in strides):
                return None
        return join(*sizes) if sizes else None

    def size_node(self, facts: Facts, part: cst.Slice) -> cst.BaseExpression | None:
        """The expression in the slice, or behind its names, that says how large a batch is."""
        size = self.size()
        for value in walk_back((*self.upper, *self.lower)):
            if not isinstance(value, Opaque) or value.kind != "operation":
                continue
            for node in operands_of(value.node):
                found = facts.values_of(node)
                if size is not None and same(found, size):
                    return node
        return None

    def same_as(self, other: Bounds | None) -> bool:
        """Whether two slices take the same part of what they are cut from."""
        if other is None:
            return False
        if same(self.lower, other.lower):
            return True
        mine, its = places_of(self.lower), places_of(other.lower)
        return None not in mine and mine == its


def operands_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The two sides of an operator, the right one first."""
    if isinstance(node, cst.BinaryOperation):
        return [node.right, node.left]
    return [node.value] if isinstance(node, cst.AugAssign) else []


def is_moving(value: Value) -> bool:
    """Whether a value changes with the rounds of a loop."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "element" or (value.kind == "operation" and value.name == "index"):
        return True
    return value.kind == "operation" and isinstance(value.node, cst.AugAssign)


def stride_of(value: Value) -> Values | None:
    """By how much a lower bound moves on with each round, where that is to be seen."""
    if not isinstance(value, Opaque):
        return None
    if value.kind == "element":
        return range_step(value)
    if value.kind == "operation" and value.name == "Multiply":
        for counter, factor in (value.operands, tuple(reversed(value.operands))):
            if counts_rounds(counter):
                return factor
    if value.kind == "operation" and isinstance(value.node, cst.AugAssign):
        return value.operands[1] if value.name == "Add" else None
    return None


def places_of(lower: Values) -> set[tuple[int, object] | None]:
    """What lower bounds that are a number of a round times a constant consist of."""
    found: set[tuple[int, object] | None] = set()
    for value in lower:
        place = None
        if isinstance(value, Opaque) and value.kind == "operation" and value.name == "Multiply":
            for counter, factor in (value.operands, tuple(reversed(value.operands))):
                constant = only_constant(factor)
                if counts_rounds(counter) and constant is not None:
                    place = (id(counter[0]), constant.value)
        found.add(place)
    return found


def range_step(value: Opaque) -> Values | None:
    """The step of the range that an element comes from."""
    for source in value.operands[0]:
        if any(name in RANGES for name in called_names(source)) and isinstance(source, Opaque):
            step = source.arguments.get("step", 2)
            return step.values if step is not None else None
    return None


def counts_rounds(values: Values) -> bool:
    """Whether values are the number of a round: 0, 1, 2 ..."""
    if len(values) != 1 or not isinstance(values[0], Opaque):
        return False
    value = values[0]
    if value.kind == "operation" and value.name == "index":
        return True
    if value.kind != "element":
        return False
    for source in value.operands[0]:
        if any(name in RANGES for name in called_names(source)) and isinstance(source, Opaque):
            return source.arguments.get("step", 2) is None
    return False


def reaches(value: Value, lower: Value, stride: Values) -> bool:
    """Whether an upper bound lies one batch behind the lower one."""
    if not isinstance(value, Opaque):
        return False
    if "min" in last_words(value):
        return any(
            reaches(inner, lower, stride) for item in value.arguments.items for inner in item.values
        )
    if value.kind != "operation":
        return False
    if value.name == "Add":
        for first, second in (value.operands, tuple(reversed(value.operands))):
            again = any(one is lower or is_same_product(one, lower) for one in first)
            if again and same(second, stride):
                return True
    if value.name == "Multiply":
        for factor, size in (value.operands, tuple(reversed(value.operands))):
            if same(size, stride) and is_next(factor, lower):
                return True
    return False


def is_same_product(value: Value, other: Value) -> bool:
    """Whether two products are of the same two factors."""
    products = [
        one.operands
        for one in (value, other)
        if isinstance(one, Opaque) and one.kind == "operation" and one.name == "Multiply"
    ]
    if len(products) != 2:
        return False
    (first, second), turned = products[0], tuple(reversed(products[1]))
    return any(same(first, one) and same(second, two) for one, two in (products[1], turned))


def last_words(value: Opaque) -> list[str]:
    """The names behind the last dot of what is called."""
    return [name.rpartition(".")[2] for name in called_names(value)]


def is_next(values: Values, lower: Value) -> bool:
    """Whether values are the number of the round behind that of a lower bound."""
    for value in values:
        if isinstance(value, Opaque) and value.kind == "operation" and value.name == "Add":
            for first, second in (value.operands, tuple(reversed(value.operands))):
                if second == (Constant(1),) and counts_rounds(first):
                    return any(one is first[0] for one in walk_back((lower,)))
    return False


def same(first: Values, second: Values) -> bool:
    """Whether two expressions have the same value."""
    if not first or len(first) != len(second):
        return False
    return all(any(one is other or one == other for other in second) for one in first)


def is_position(value: Value, loops: set[int]) -> bool:
    """Whether a value is the position of one of some loops."""
    if not isinstance(value, Opaque) or id(value.node) not in loops:
        return False
    if value.kind == "operation":
        return value.name == "index"
    return value.kind == "element" and any(
        name in RANGES for source in value.operands[0] for name in called_names(source)
    )


def mentions_position(values: Values, loops: set[int]) -> bool:
    """Whether values are computed from the position of one of some loops."""
    return any(is_position(value, loops) or is_moving(value) for value in walk_back(values))
