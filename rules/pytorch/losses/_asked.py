"""What a condition asks for, by the way it is written."""

from __future__ import annotations

import libcst as cst

#: What gives 0 for nothing, and more for something.
COUNTS = frozenset({"sum", "numel", "nelement", "count_nonzero", "len"})


def asks_for_any(node: cst.CSTNode) -> bool:
    """Whether a condition is true where there is something: then it is so on any process."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        target = node.comparisons[0]
        return (
            isinstance(target.operator, (cst.GreaterThan, cst.NotEqual))
            and isinstance(target.comparator, cst.Integer)
            and target.comparator.value == "0"
            and is_count(node.left)
        )
    return (isinstance(node, cst.Call) and last_word(node.func) == "any") or is_count(node)


def is_count(node: cst.CSTNode) -> bool:
    """Whether an expression counts something."""
    if isinstance(node, cst.Subscript):
        return is_first_of_shape(node)
    if not isinstance(node, cst.Call):
        return False
    word = last_word(node.func)
    if word in ("item", "int", "float") and isinstance(node.func, cst.Attribute):
        return is_count(node.func.value)
    if word == "size":
        return len(node.args) == 1 and is_zero(node.args[0].value)
    return word in COUNTS


def is_first_of_shape(node: cst.Subscript) -> bool:
    """Whether an expression is ``tensor.shape[0]``."""
    index = node.slice[0].slice
    return (
        len(node.slice) == 1
        and isinstance(index, cst.Index)
        and is_zero(index.value)
        and last_word(node.value) == "shape"
    )


def is_zero(node: cst.CSTNode) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(node, cst.Integer) and node.value == "0"


def last_word(node: cst.CSTNode) -> str:
    """The last word of a dotted name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""
