"""How long things are: lists, ranges, tensors, and objects that say so themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transpile.arithmetic.formula import (
    Formula,
    add,
    divide_up,
    multiply,
    number,
    operation,
    subtract,
    unanimous,
)
from transpile.facts.values import (
    Arguments,
    Class,
    Constant,
    Function,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls

if TYPE_CHECKING:
    from transpile.arithmetic.reading import Reader

#: Methods that make a list longer or shorter.
CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "add", "update"})
#: Operators between tensors that keep their length.
ELEMENTWISE = frozenset({"Add", "Subtract", "Multiply", "Divide", "Modulo", "Power", "Minus"})
OPERATORS = {cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.FloorDivide: "//"}


def length_of_value(reader: Reader, value: Value) -> Formula | None:
    """How long a value is; None where nothing says so."""
    if isinstance(value, Sequence):
        return length_of_sequence(reader, value)
    if isinstance(value, Instance):
        return length_of_object(reader, value)
    if not isinstance(value, Opaque):
        return None
    known = reader.vocabulary.size(value, reader)
    if known is not None:
        return known
    if value.kind == "call":
        if value.inner:
            return agreed(reader, value.inner)
        if called_names(value) == ("builtins.range",):
            return length_of_range(reader, value.arguments)
    if value.kind == "operation" and value.name == "Multiply" and len(value.operands) == 2:
        left, right = value.operands
        if len(left) == 1 and isinstance(left[0], Sequence):
            own = length_of_value(reader, left[0])
            return multiply(own, reader.formula(right)) if own is not None else None
    return length_of_tensor(reader, value)


def agreed(reader: Reader, values: Values) -> Formula | None:
    """The length that all alternatives have."""
    return unanimous(reader.length_of(value) for value in values)


def length_of_sequence(reader: Reader, value: Sequence) -> Formula | None:
    """The length of a list that nothing changes."""
    changes = any(
        isinstance(callee, Opaque) and callee.name in CHANGING and (value,) in callee.operands
        for event in reader.plan.facts.calls
        for callee in event.callee
    )
    if value.kind == "set" or changes:
        return None
    if not value.rest:
        return number(len(value.elements))
    node = value.node
    if isinstance(node, cst.ListComp) and not value.elements:
        loop = node.for_in
        if not loop.ifs and loop.inner_for_in is None:
            return agreed(reader, reader.plan.facts.values_of(loop.iter))
    return None


def length_of_range(reader: Reader, arguments: Arguments) -> Formula | None:
    """The length of ``range(start, stop, step)``."""
    if arguments.unknown_because:
        return None
    bounds = [reader.formula(each.values, each.node) for each in arguments.positional()]
    if len(bounds) == 1:
        return bounds[0]
    if len(bounds) == 2:
        return subtract(bounds[1], bounds[0])
    if len(bounds) == 3:
        return divide_up(subtract(bounds[1], bounds[0]), bounds[2])
    return None


# Tensors.


def length_of_tensor(reader: Reader, value: Value) -> Formula | None:
    """The length of a tensor that is made with its shape, through arithmetic and methods."""
    if not isinstance(value, Opaque):
        return None
    words = reader.vocabulary
    known = words.size(value, reader)
    if known is not None:
        return known
    if value.kind == "call":
        names = called_names(value)
        if names and all(each in words.ranges for each in names):
            return length_of_range(reader, value.arguments)
        positions = {words.shapes.get(each) for each in names}
        if len(positions) == 1 and (position := positions.pop()) is not None:
            return first_dimension(reader, value.arguments, position)
        if names and all(each in words.same_length for each in names):
            first = value.arguments.items[:1]
            return tensors(reader, first[0].values) if first else None
        for method, receiver in method_calls(value):
            if method in words.same_length:
                return tensors(reader, receiver)
        return None
    if value.kind == "item" and len(value.index) == 1 and isinstance(value.index[0], Opaque):
        # Numbered by whole numbers, a tensor gives as many elements as there are numbers.
        chosen = called_names(value.index[0])
        if chosen and all(each in words.ranges or each in words.orders for each in chosen):
            return length_of_tensor(reader, value.index[0])
        return None
    if value.kind == "operation" and value.name in ELEMENTWISE:
        found = []
        for side in value.operands:
            if all(isinstance(each, Constant) for each in side):
                continue
            found.append(tensors(reader, side))
        return unanimous(found)
    return None


def tensors(reader: Reader, values: Values) -> Formula | None:
    """The length that all of some tensors have."""
    return unanimous(length_of_tensor(reader, value) for value in values)


def first_dimension(reader: Reader, arguments: Arguments, position: int) -> Formula | None:
    """The first number of a shape: ``randn(n, 3)``, ``randn((n, 3))``, ``zeros(size=(n, 3))``."""
    if arguments.unknown_because:
        return None
    found = arguments.keyword("size") or arguments.keyword("shape") or arguments.keyword("steps")
    found = found or arguments.get("", position)
    if found is None:
        return None
    if len(found.values) == 1 and isinstance(found.values[0], Sequence):
        elements = found.values[0].elements
        return reader.formula(elements[0]) if elements else None
    return reader.formula(found.values, found.node)


# Objects of the project.


def length_of_object(reader: Reader, value: Instance) -> Formula | None:
    """What ``__len__`` of a class of the project returns, where that is one expression."""
    for ancestor in value.cls.ancestry():
        if not isinstance(ancestor, Class):
            return None
        methods = ancestor.scope.names.get("__len__", ())
        if methods:
            if len(methods) != 1 or not isinstance(methods[0], Function):
                return None
            returned = only_return(methods[0])
            found = Method(reader, value, methods[0]).formula(returned) if returned else None
            return found if found is not None and found.is_known else None
    return None


def only_return(function: Function) -> cst.BaseExpression | None:
    """The expression that a function consists of, but for a docstring."""
    if isinstance(function.node, cst.Lambda):
        return function.node.body
    lines = [
        small
        for line in function.node.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    ]
    lines = [line for line in lines if not isinstance(line, cst.Expr)]
    if len(lines) == 1 and isinstance(lines[0], cst.Return):
        return lines[0].value
    return None


class Method:
    """A method of one expression, read for one object."""

    def __init__(self, reader: Reader, receiver: Instance, function: Function) -> None:
        self.reader = reader
        self.receiver = receiver
        self.function = function
        parameters = function.node.params.params
        self.own = parameters[0].name.value if parameters else ""

    def formula(self, node: cst.CSTNode) -> Formula | None:
        """The number that an expression of the method is."""
        if isinstance(node, cst.BinaryOperation):
            word = OPERATORS.get(type(node.operator))
            left, right = self.formula(node.left), self.formula(node.right)
            if word is None or left is None or right is None:
                return None
            return operation(word, left, right)
        if isinstance(node, cst.Call):
            return self.call(node)
        if isinstance(node, cst.Subscript):
            # x.shape[0]
            if isinstance(node.value, cst.Attribute) and node.value.attr.value == "shape":
                return self.length(node.value.value) if is_zero(node) else None
            return None
        values = self.values(node)
        found = self.reader.formula(values, node) if values else None
        return found if found is not None and found.is_known else None

    def call(self, node: cst.Call) -> Formula | None:
        """``len(x)`` and ``x.size(0)``."""
        if isinstance(node.func, cst.Name) and len(node.args) == 1:
            if node.func.value == "len":
                return self.length(node.args[0].value)
            if node.func.value == "int":
                inner = self.formula(node.args[0].value)
                return operation("int", inner) if inner is not None else None
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "size":
            if len(node.args) == 1 and isinstance(node.args[0].value, cst.Integer):
                zero = node.args[0].value.value == "0"
                return self.length(node.func.value) if zero else None
        return None

    def length(self, node: cst.CSTNode) -> Formula | None:
        """How long what an expression stands for is."""
        values = self.values(node)
        return agreed(self.reader, values) if values else None

    def values(self, node: cst.CSTNode) -> Values:
        """What a literal, a global name or an attribute of the object stands for."""
        if isinstance(node, cst.Integer):
            return (Constant(int(node.value.replace("_", ""), 0)),)
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            if node.value.value == self.own:
                return self.attribute(node.attr.value)
        if isinstance(node, cst.Name):
            return self.function.closure.names.get(node.value, ())
        return ()

    def attribute(self, name: str) -> Values:
        """An attribute of the object, or of its class."""
        own = self.receiver.attributes.get(name, ())
        if own:
            return own
        for ancestor in self.receiver.cls.ancestry():
            if isinstance(ancestor, Class) and name in ancestor.scope.names:
                return ancestor.scope.names[name]
        return ()


def is_zero(node: cst.Subscript) -> bool:
    """Whether a subscript is ``[0]``."""
    index = node.slice[0].slice
    return (
        len(node.slice) == 1
        and isinstance(index, cst.Index)
        and isinstance(index.value, cst.Integer)
        and index.value.value == "0"
    )


def total(found: list[Formula | None]) -> Formula | None:
    """The sum of lengths; None where one is not known."""
    result = number(0)
    for each in found:
        if each is None:
            return None
        result = add(result, each)
    return result
