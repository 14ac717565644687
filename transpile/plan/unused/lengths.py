"""Loops that take layers out of a container: whether they are known to come to all of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Instance, Opaque, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.unused.slices import names_in

RANGE, ZIP, LEN, MIN = (External(f"builtins.{name}") for name in ("range", "zip", "len", "min"))
#: Operators that give a part of what they are given.
PARTING = (cst.Divide, cst.FloorDivide, cst.Modulo, cst.RightShift)
#: What gives all of a container in another form.
WHOLE = frozenset({External("builtins.list"), External("builtins.tuple")})
ISLICE = External("itertools.islice")
#: Methods that put one more layer into a container.
PUTTING = frozenset({"append", "insert", "add_module"})


class Lengths:
    """What says how many layers a container has, and which loops go by that.

    Args:
        plan: the plan.
        part: the module that holds the container.
        containers: the values of its attribute.
    """

    def __init__(self, plan: Plan, part: Instance, containers: Values) -> None:
        self.plan = plan
        self.part = part
        self.containers = containers
        #: Expressions that a length may be a part by, in what makes the container.
        self.smaller: set[str] = set()
        self.counts = {
            key(value)
            for held in containers
            for value in self.counts_of(held)
            if not isinstance(value, External)
        }

    def cuts(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether a use goes along something shorter, for all that is known: ``zip``."""
        call = module.source.parent(module.source.parent(node) or node)
        if not isinstance(call, cst.Call):
            return False
        callee = self.plan.facts.values_of(call.func)
        if callee == (ISLICE,):
            return len(call.args) == 2 and not self.reaches_all([call.args[1].value])
        if callee != (ZIP,):
            return False
        ranges = [arg.value for arg in call.args if self.is_range(arg.value)]
        return any(isinstance(one, cst.Call) and not self.all_in(one) for one in ranges)

    def cut_out_of(self, module: Module, node: cst.CSTNode) -> cst.Subscript | None:
        """The subscript of a container, or of a list of all that it holds."""
        parent = module.source.parent(node)
        call = module.source.parent(parent) if isinstance(parent, cst.Arg) else None
        if isinstance(call, cst.Call) and WHOLE.intersection(self.plan.facts.values_of(call.func)):
            return self.cut_out_of(module, call)
        if isinstance(parent, cst.Subscript) and parent.value is node:
            return parent
        return None

    def falls_short(self, loop: cst.CSTNode, names: set[str]) -> bool:
        """Whether a loop that moves along the container may end before it does.

        Args:
            loop: the loop or the clause of a comprehension.
            names: the names that say where in the container.
        """
        if isinstance(loop, (cst.For, cst.CompFor)):
            along = loop.iter
            return isinstance(along, cst.Call) and self.is_range(along) and not self.all_in(along)
        if isinstance(loop, cst.While) and isinstance(loop.test, cst.Comparison):
            sides = [loop.test.left, *(each.comparator for each in loop.test.comparisons)]
            others = [side for side in sides if not names & names_in(side)]
            return 0 < len(others) < len(sides) and not self.reaches_all(others)
        return False

    def is_range(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a call of ``range``."""
        return is_range(self.plan, node)

    def all_in(self, call: cst.Call) -> bool:
        """Whether a ``range`` has as many numbers as the container has layers."""
        start, stop, step = (*(arg.value for arg in call.args), None, None)[:3]
        backwards = isinstance(step, cst.UnaryOperation)
        end = start if stop is None or backwards else stop
        return end is not None and self.reaches_all([end])

    def reaches_all(self, bounds: list[cst.BaseExpression]) -> bool:
        """Whether the length of the container has a part in some bound that is not made smaller."""
        return any(
            # What is only added to a bound says nothing of it.
            self.is_length(bound) or self.has_length(bound)
            for bound in bounds
        )

    def has_length(self, node: cst.CSTNode) -> bool:
        """Whether an expression is the length, or is made of it by what keeps it as large."""
        if not isinstance(node, cst.Integer) and self.is_length(node):
            return True
        if self.makes_smaller(node) and code(node) not in self.smaller:
            return False
        return any(self.has_length(child) for child in node.children)

    def makes_smaller(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a part of what stands in it: ``depth // 2``."""
        if isinstance(node, cst.Call):
            return self.plan.facts.values_of(node.func) == (MIN,)
        if not isinstance(node, cst.BinaryOperation):
            return False
        if isinstance(node.operator, cst.Multiply):
            return any(isinstance(side, cst.Float) for side in (node.left, node.right))
        return isinstance(node.operator, PARTING)

    def is_length(self, node: cst.CSTNode) -> bool:
        """Whether an expression is what the container was made by, whatever it is."""
        if isinstance(node, cst.Call):
            return self.plan.facts.values_of(node.func) == (LEN,)
        if not isinstance(node, (cst.Name, cst.Attribute, cst.Integer)):
            return False
        values = self.plan.facts.values_of(node)
        if any(is_len(value) for value in walk_back(values)):
            return True
        return bool(values) and all(
            key(value) in self.counts or self.is_beyond(value) for value in values
        )

    def is_beyond(self, value: Value) -> bool:
        """Whether a number is larger than any that the container was made by."""
        known = [each.value for each in self.counts if isinstance(each, Constant)]
        return (
            isinstance(value, Constant)
            and type(value.value) is int
            and bool(known)
            and len(known) == len(self.counts)
            and all(value.value > each for each in known if type(each) is int)
        )

    def counts_of(self, container: Value) -> Iterator[Value]:
        """The numbers that the making of a container goes by, and of the list that it is given."""
        made = [container]
        for item in container.arguments.items if isinstance(container, Opaque) else ():
            yield from lengths(item.values)
            lists = (one for one in item.values if isinstance(one, Sequence))
            made.extend(layer for one in lists for layer in one.every())
        seen: set[int] = set()
        for value in made:
            module, node = getattr(value, "module", None), getattr(value, "node", None)
            if module is None or node is None or not module.source.has(node):
                continue
            around: cst.CSTNode = node
            for parent in module.source.parents(node):
                around = parent
                if isinstance(parent, cst.FunctionDef):
                    break
            if id(around) not in seen:
                seen.add(id(around))
                counts, smaller = counts_within(self.plan, around)
                self.smaller |= smaller
                yield from counts


@query
def counts_within(plan: Plan, function: cst.CSTNode) -> tuple[list[Value], set[str]]:
    """The numbers that loops, products and appending go by in a function.

    Behind them stand the expressions that a length may be a part by.
    """
    counts: list[Value] = []
    smaller: set[str] = set()
    put = 0
    for inner in descendants(function):
        if isinstance(inner, (cst.For, cst.CompFor)):
            for leaf in descendants(inner.iter):
                if isinstance(leaf, cst.Call) and is_range(plan, leaf):
                    continue
                values = plan.facts.values_of(leaf)
                counts.extend((*values, *lengths(values)))
        elif isinstance(inner, cst.BinaryOperation):
            smaller.add(code(inner))
            # ``[layer] * depth``
            for side in (inner.left, inner.right):
                counts.extend(plan.facts.values_of(side))
        elif isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute):
            put += inner.func.attr.value in PUTTING
    if put:
        counts.append(Constant(put))
    return counts, smaller


def is_range(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a call of ``range``."""
    return isinstance(node, cst.Call) and plan.facts.values_of(node.func) == (RANGE,)


def lengths(values: Values) -> Iterator[Constant]:
    """How long lists are whose entries are all known."""
    for value in values:
        if isinstance(value, Sequence) and not value.rest:
            yield Constant(len(value.elements))


def code(node: cst.CSTNode) -> str:
    """The text of an expression, the same for a parameter and for the attribute that keeps it."""
    return cst.Module([]).code_for_node(node).replace("self.", "").replace(" ", "")


def is_len(value: Value) -> bool:
    """Whether a value is the length of something."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name == "len"


def key(value: Value) -> object:
    """What two values have in common that are the same."""
    return value if isinstance(value, Constant) else id(value)
