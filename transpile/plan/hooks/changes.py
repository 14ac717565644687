"""Whether code that is given a gradient makes something else of it than a multiple.

Gradients are averaged over the processes behind such code. The average of multiples is the multiple
of the average; that of anything else, such as a bound, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import libcst as cst

from transpile.facts.walk import children


class Kind(IntEnum):
    """How an expression depends on a gradient."""

    NOT = 0
    MULTIPLE = 1
    UNTOLD = 2
    OTHERWISE = 3


#: Methods and functions that give back what they are given, or a part of it.
KEEPS = frozenset(
    {
        "clone", "detach", "contiguous", "view", "reshape", "to", "type_as", "type", "sum", "mean",
        "neg", "neg_", "t", "transpose", "permute", "squeeze", "unsqueeze", "expand", "float",
        "double", "half", "cuda", "cpu", "flatten", "view_as", "expand_as", "sum_to_size",
        "to_sparse", "to_dense", "index_select", "gather", "repeat", "tuple", "list",
    }
)  # fmt: skip
#: Those that multiply or divide it.
SCALES = frozenset(
    {"mul", "mul_", "div", "div_", "matmul", "mm", "bmm", "multiply", "divide", "einsum", "conv2d"}
)
#: Those that say nothing of its values.
SHAPES = frozenset(
    {"zeros_like", "ones_like", "empty_like", "size", "dim", "numel", "new_zeros", "new_ones"}
)
#: Those that are no multiple for certain.
BENDS = frozenset(
    {
        "clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_max", "hardtanh", "tanh", "sign",
        "sgn", "sign_", "abs", "abs_", "sqrt", "relu", "normalize", "sigmoid", "pow", "pow_",
        "square", "nan_to_num", "nan_to_num_", "round", "clip_grad_norm_", "norm", "max", "min",
        "clamp_max_", "clamp_min_", "minimum", "maximum", "softmax",
    }
)  # fmt: skip
ATTRIBUTES_OF_SHAPE = frozenset({"shape", "dtype", "device", "is_sparse", "ndim", "layout"})


def worst_change(function: cst.FunctionDef | cst.Lambda, gradients: set[str]) -> Kind:
    """How what a function gives back, or changes in place, depends on gradients it is given.

    Args:
        function: the code.
        gradients: its parameters that are gradients.
    """
    return Changes(gradients).of_function(function)


class Changes:
    """What the variables of one function hold, in terms of the gradients that it is given."""

    def __init__(self, gradients: set[str]) -> None:
        self.known = dict.fromkeys(gradients, Kind.MULTIPLE)
        self.worst = Kind.NOT

    def of_function(self, function: cst.FunctionDef | cst.Lambda) -> Kind:
        """The worst of what is given back."""
        if isinstance(function, cst.Lambda):
            return self.kind(function.body)
        for node in statements(function.body):
            self.follow(node)
        return self.worst

    def follow(self, node: cst.CSTNode) -> None:
        """Take in one small statement."""
        if isinstance(node, cst.Return) and node.value is not None:
            self.worst = max(self.worst, self.kind(node.value))
        elif isinstance(node, cst.Assign):
            given = self.kind(node.value)
            for target in node.targets:
                self.assign(target.target, given)
        elif isinstance(node, cst.AugAssign):
            name = type(node.operator).__name__.removesuffix("Assign")
            given = combined(name, self.kind(node.target), self.kind(node.value))
            self.assign(node.target, given)
        elif isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
            func = node.value.func
            if isinstance(func, cst.Attribute) and func.attr.value.endswith("_"):
                changed = self.kind(node.value)
                if changed is Kind.OTHERWISE and self.kind(func.value) is not Kind.NOT:
                    self.worst = changed

    def assign(self, target: cst.BaseExpression, given: Kind) -> None:
        """Take in what a variable holds from now on."""
        if isinstance(target, cst.Name):
            self.known[target.value] = given
        elif isinstance(target, cst.Tuple):
            for element in target.elements:
                self.assign(element.value, given)
        elif isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            name = target.value.value
            before = self.known.get(name, Kind.NOT)
            self.known[name] = max(before, given)

    def kind(self, node: cst.CSTNode) -> Kind:
        """How an expression depends on the gradients."""
        if isinstance(node, cst.Name):
            return self.known.get(node.value, Kind.NOT)
        if isinstance(node, cst.Attribute):
            if node.attr.value in ATTRIBUTES_OF_SHAPE:
                return Kind.NOT
            return self.kind(node.value)
        if isinstance(node, cst.UnaryOperation):
            return self.kind(node.expression)
        if isinstance(node, cst.BinaryOperation):
            name = type(node.operator).__name__
            return combined(name, self.kind(node.left), self.kind(node.right))
        if isinstance(node, cst.Call):
            return self.call(node)
        if isinstance(node, cst.Subscript):
            return self.kind(node.value)
        if isinstance(node, (cst.Tuple, cst.List)):
            return max((self.kind(element.value) for element in node.elements), default=Kind.NOT)
        if isinstance(node, (cst.GeneratorExp, cst.ListComp)):
            self.assign(node.for_in.target, self.kind(node.for_in.iter))
            return self.kind(node.elt)
        inside = max(map(self.kind, children(node)), default=Kind.NOT)
        return min(inside, Kind.UNTOLD) if inside is not Kind.OTHERWISE else inside

    def call(self, node: cst.Call) -> Kind:
        """What a call makes of what it is given."""
        given = [self.kind(argument.value) for argument in node.args]
        func = node.func
        word = func.attr.value if isinstance(func, cst.Attribute) else ""
        if isinstance(func, cst.Name):
            word = func.value
        receiver = self.kind(func.value) if isinstance(func, cst.Attribute) else Kind.NOT
        worst = max([receiver, *given])
        if worst is Kind.NOT or worst is Kind.OTHERWISE or word in SHAPES:
            return Kind.NOT if word in SHAPES else worst
        several = sum(one is not Kind.NOT for one in (receiver, *given))
        if word in KEEPS:
            return worst
        if word in SCALES:
            divides = word.startswith("div") and receiver is Kind.NOT and Kind.NOT in given[:1]
            return worst if several == 1 and not divides else Kind.OTHERWISE
        if word in ("masked_fill", "masked_fill_", "where") and several == 1:
            return worst
        return Kind.OTHERWISE if word in BENDS else Kind.UNTOLD


def combined(operator: str, left: Kind, right: Kind) -> Kind:
    """What an operator, by its name in the tree, makes of its sides."""
    worst = max(left, right)
    if worst is Kind.NOT or worst is Kind.OTHERWISE:
        return worst
    if operator in ("Multiply", "MatrixMultiply"):
        return worst if Kind.NOT in (left, right) else Kind.OTHERWISE
    if operator == "Divide":
        return worst if right is Kind.NOT else Kind.OTHERWISE
    if operator in ("Add", "Subtract"):
        return worst if Kind.NOT not in (left, right) else Kind.UNTOLD
    return Kind.OTHERWISE


def statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The small statements of a body, in order, those of inner functions left out."""
    for child in children(body):
        if isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        if isinstance(child, cst.BaseSmallStatement):
            yield child
        else:
            yield from statements(child)
