"""Classes whose objects keep means of the numbers that they are given.

What a method computes from a number by sums, by multiples, and by quotients with what all processes
have alike commutes with the mean over the processes, however often that is taken on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.facts.values import Class, External, Function
from transpile.facts.walk import descendants
from transpile.records import dataclass

#: Functions of the language that make equal numbers of equal numbers.
EQUAL_FUNCTIONS = frozenset({"max", "min", "abs", "len", "float", "int", "round"})
#: What reaches attributes without naming them.
INDIRECT = frozenset({"setattr", "delattr", "__setattr__", "__getattr__", "__getattribute__"})

GROUPS = (cst.Tuple, cst.List)


class Kind(Enum):
    """How an expression depends on the numbers that differ between the processes."""

    EQUAL = "equal"
    LINEAR = "linear"


@dataclass(frozen=True, eq=False)
class Averaged:
    """What a method does with its numbers.

    Args:
        attributes: those that the numbers are added to, in the order of their names.
    """

    attributes: tuple[str, ...]


def averaged(cls: Class, method: Function, own: frozenset[str]) -> Averaged | None:
    """How an object keeps the numbers that a method is given; None where that cannot be told.

    Args:
        cls: its class.
        method: the method.
        own: the parameters that get numbers of one process; the others are equal on all.
    """
    node = method.node
    if not isinstance(node, cst.FunctionDef) or node.decorators or node.asynchronous:
        return None
    if not is_plain(cls) or any(hides_attributes(part) for part in descendants(cls.node)):
        return None
    reading = Reading(node, own)
    for _ in range(len(list(descendants(node)))):
        before = set(reading.linear)
        if not reading.read():
            return None
        if reading.linear == before:
            break
    begun = set(assigned_first(cls))
    if not reading.linear or not reading.linear <= begun or not kept_elsewhere(cls, reading):
        return None
    return Averaged(tuple(sorted(reading.linear)))


class Reading:
    """Reads a method.

    Args:
        function: the method.
        own: the parameters that get numbers of one process.
    """

    def __init__(self, function: cst.FunctionDef, own: frozenset[str]) -> None:
        self.function = function
        parameters = function.params
        self.names = [p.name.value for p in (*parameters.posonly_params, *parameters.params)]
        self.given = frozenset({*self.names[1:], *(p.name.value for p in parameters.kwonly_params)})
        self.own = own
        self.linear: set[str] = set()
        self.local: dict[str, Kind] = {}

    @property
    def itself(self) -> str:
        """What the method calls its object."""
        return self.names[0] if self.names else ""

    def read(self) -> bool:
        """Follow all statements once; whether each is understood."""
        self.local = {name: Kind.LINEAR if name in self.own else Kind.EQUAL for name in self.given}
        return bool(self.names) and self.block(self.function.body)

    def block(self, body: cst.BaseSuite) -> bool:
        """Follow the statements of a block."""
        for statement in body.body:
            if isinstance(statement, cst.If):
                if self.kind(statement.test) is not Kind.EQUAL or not self.block(statement.body):
                    return False
                other = statement.orelse
                while isinstance(other, cst.If):
                    if self.kind(other.test) is not Kind.EQUAL or not self.block(other.body):
                        return False
                    other = other.orelse
                if other is not None and not self.block(other.body):
                    return False
            elif isinstance(statement, cst.SimpleStatementLine):
                if not all(self.statement(small) for small in statement.body):
                    return False
            elif isinstance(statement, cst.BaseSmallStatement):
                if not self.statement(statement):
                    return False
            else:
                return False
        return True

    def statement(self, small: cst.BaseSmallStatement) -> bool:
        """Follow one statement."""
        if isinstance(small, cst.Pass):
            return True
        if isinstance(small, cst.Expr):
            return isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))
        if isinstance(small, cst.AugAssign):
            kind = combined(self.kind(small.target), self.kind(small.value), small.operator)
            return kind is not None and self.store(small.target, kind)
        if isinstance(small, cst.Assign):
            kinds = [(target, self.kind(value)) for target, value in assigned(small)]
            return all(kind is not None and self.store(target, kind) for target, kind in kinds)
        return False

    def store(self, target: cst.BaseExpression, kind: Kind) -> bool:
        """Note what is assigned."""
        if isinstance(target, cst.Name):
            # On some way it may be either.
            if kind is Kind.LINEAR or target.value not in self.local:
                self.local[target.value] = kind
            return True
        name = attribute(target, self.itself)
        if name and kind is Kind.LINEAR:
            self.linear.add(name)
        return bool(name)

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """How an expression depends on the numbers; None where that cannot be told."""
        if isinstance(node, (cst.Integer, cst.Float)):
            return Kind.EQUAL
        if isinstance(node, cst.Name):
            if node.value in ("None", "True", "False"):
                return Kind.EQUAL
            return self.local.get(node.value)
        if isinstance(node, cst.Attribute):
            name = attribute(node, self.itself)
            if not name:
                return None
            return Kind.LINEAR if name in self.linear else Kind.EQUAL
        if isinstance(node, cst.UnaryOperation):
            kind = self.kind(node.expression)
            return kind if kind is Kind.EQUAL or isinstance(node.operator, cst.Minus) else None
        if isinstance(node, cst.BinaryOperation):
            return combined(self.kind(node.left), self.kind(node.right), node.operator)
        if isinstance(node, cst.IfExp):
            kinds = {self.kind(node.body), self.kind(node.orelse)}
            if self.kind(node.test) is not Kind.EQUAL or None in kinds:
                return None
            return Kind.LINEAR if Kind.LINEAR in kinds else Kind.EQUAL
        if isinstance(node, cst.Comparison):
            parts = [node.left, *(each.comparator for each in node.comparisons)]
            return Kind.EQUAL if all(self.kind(p) is Kind.EQUAL for p in parts) else None
        if isinstance(node, cst.BooleanOperation):
            sides = {self.kind(node.left), self.kind(node.right)}
            return Kind.EQUAL if sides == {Kind.EQUAL} else None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            alone = not node.args and node.func.attr.value in ("item", "detach", "cpu")
            return self.kind(node.func.value) if alone else None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            if node.func.value == "isinstance":
                return Kind.EQUAL
            kinds = {None if arg.star else self.kind(arg.value) for arg in node.args}
            if node.func.value == "float" and kinds == {Kind.LINEAR}:
                return Kind.LINEAR
            known = node.func.value in EQUAL_FUNCTIONS
            return Kind.EQUAL if known and kinds == {Kind.EQUAL} else None
        return None


def combined(
    left: Kind | None, right: Kind | None, operator: cst.BaseBinaryOp | cst.BaseAugOp
) -> Kind | None:
    """How the outcome of an operation depends on the numbers; None where that cannot be told."""
    if left is None or right is None:
        return None
    if left is right is Kind.EQUAL:
        return Kind.EQUAL
    if isinstance(operator, (cst.Add, cst.Subtract, cst.AddAssign, cst.SubtractAssign)):
        return Kind.LINEAR
    if isinstance(operator, (cst.Multiply, cst.MultiplyAssign)):
        return None if left is right else Kind.LINEAR
    if isinstance(operator, (cst.Divide, cst.DivideAssign)):
        return Kind.LINEAR if right is Kind.EQUAL else None
    return None


def assigned(node: cst.Assign) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each target of an assignment with what it is set to; of groups that are written out, each."""
    for each in node.targets:
        target, value = each.target, node.value
        if isinstance(target, GROUPS) and isinstance(value, GROUPS):
            parts = (*target.elements, *value.elements)
            plain = all(isinstance(part, cst.Element) for part in parts)
            if plain and len(target.elements) == len(value.elements):
                for one, other in zip(target.elements, value.elements, strict=True):
                    yield one.value, other.value
                continue
        yield target, value


def attribute(node: cst.CSTNode, itself: str) -> str:
    """The attribute of the object that an expression is; empty for others."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return node.attr.value if node.value.value == itself else ""
    return ""


def hides_attributes(node: cst.CSTNode) -> bool:
    """Whether something reaches attributes without naming them, or gives methods another sense."""
    if isinstance(node, cst.Decorator):
        return not (isinstance(node.decorator, cst.Name) and node.decorator.value == "property")
    return isinstance(node, cst.Name) and node.value in INDIRECT


def is_plain(cls: Class) -> bool:
    """Whether a class has no bases and no decorators."""
    return not cls.node.decorators and all(
        isinstance(value, External) and value.name == "builtins.object"
        for base in cls.bases
        for value in base or (None,)
    )


def methods_of(cls: Class) -> dict[str, cst.FunctionDef]:
    """The methods of a class."""
    return {
        node.name.value: node for node in cls.node.body.body if isinstance(node, cst.FunctionDef)
    }


def first_parameter(function: cst.FunctionDef) -> str:
    """What a method calls its object."""
    parameters = (*function.params.posonly_params, *function.params.params)
    return parameters[0].name.value if parameters else ""


def assigned_first(cls: Class) -> Iterator[str]:
    """The attributes that every new object has."""
    methods, seen, pending = methods_of(cls), set(), ["__init__"]
    while pending:
        name = pending.pop()
        function = methods.get(name)
        if function is None or name in seen:
            continue
        seen.add(name)
        for line in function.body.body:
            smalls = line.body if isinstance(line, cst.SimpleStatementLine) else ()
            for small in smalls:
                if isinstance(small, cst.Assign):
                    for target, _ in assigned(small):
                        yield attribute(target, first_parameter(function))
                elif isinstance(small, cst.AnnAssign) and small.value is not None:
                    yield attribute(small.target, first_parameter(function))
                elif isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
                    pending.append(attribute(small.value.func, first_parameter(function)))


def kept_elsewhere(cls: Class, reading: Reading) -> bool:
    """Whether the other methods change nothing of it but by numbers that all processes have."""
    for function in methods_of(cls).values():
        if function is reading.function:
            continue
        itself = first_parameter(function)
        for node in descendants(function):
            pairs: list[tuple[cst.BaseExpression, cst.BaseExpression | None]] = []
            if isinstance(node, cst.Assign):
                pairs = list(assigned(node))
            elif isinstance(node, (cst.AugAssign, cst.AnnAssign)):
                pairs = [(node.target, node.value)]
            for target, value in pairs:
                names = {attribute(part, itself) for part in descendants(target)}
                if not names & reading.linear:
                    continue
                if isinstance(node, cst.AugAssign):
                    return False
                if not isinstance(value, (cst.Integer, cst.Float)):
                    return False
    return True
