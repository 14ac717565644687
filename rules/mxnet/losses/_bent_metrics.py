"""Metrics of the script that make something of a whole batch which shares do not add up to."""

from __future__ import annotations

import libcst as cst

from transpile.facts.walk import descendants

#: Methods and functions that make one number of an array, if they are told no axis.
TOTALS = frozenset({"mean", "sum", "average", "nanmean", "nansum"})
#: Those of them that the shares of a batch do not add up to.
OTHERS = frozenset(
    {"max", "min", "amax", "amin", "std", "var", "median", "norm", "percentile", "quantile"}
)
#: What may be done to a mean or a sum: the shares of that still add up.
LINEAR = frozenset(
    {"float", "int", "item", "asscalar", "asnumpy", "astype", "array", "float32", "float64", "copy",
     "as_in_context", "tolist", "squeeze", "len", "sum", "mean", "print"}
)  # fmt: skip


def bends(method: cst.FunctionDef) -> bool:
    """Whether a method compares, or takes the root of, what it has made of a whole batch."""
    known: set[str] = set()
    grows = True
    while grows:
        before = len(known)
        for node in descendants(method):
            if isinstance(node, cst.Assign) and holds_total(node.value, known):
                known |= {
                    part.value
                    for each in node.targets
                    for part in descendants(each.target)
                    if isinstance(part, cst.Name)
                }
        grows = len(known) > before
    return any(is_bent(node, known) for node in descendants(method))


def holds_total(node: cst.CSTNode, known: set[str]) -> bool:
    """Whether an expression has a number in it that was made of a whole batch."""
    return any(
        (isinstance(part, cst.Call) and total(part) in TOTALS)
        or (isinstance(part, cst.Name) and part.value in known)
        for part in descendants(node)
    )


def total(call: cst.Call) -> str:
    """The word of a call that makes one number of an array; empty for another."""
    word = last_word(call)
    given = [each for each in call.args if each.keyword is None or each.keyword.value == "axis"]
    owner = call.func.value if isinstance(call.func, cst.Attribute) else None
    if owner is None:
        return ""
    most = 1 if isinstance(owner, cst.Name) and owner.value in ("np", "numpy", "nd", "F") else 0
    if word in ("percentile", "quantile"):
        most += 1
    return word if len(given) <= most else ""


def is_bent(node: cst.CSTNode, known: set[str]) -> bool:
    """Whether a node makes something of such a number that is no multiple of it, or a sum."""
    if isinstance(node, (cst.If, cst.IfExp, cst.While)):
        return holds_total(node.test, known)
    if isinstance(node, cst.Comparison):
        return holds_total(node, known)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power):
        return holds_total(node.left, known)
    if not isinstance(node, cst.Call):
        return False
    if total(node) in OTHERS:
        return True
    if last_word(node) in LINEAR:
        return False
    owner = node.func.value if isinstance(node.func, cst.Attribute) else None
    inner = [*(each.value for each in node.args), *([owner] if owner is not None else [])]
    return any(holds_total(each, known) for each in inner)


def last_word(call: cst.Call) -> str:
    """The last word of what is called."""
    function = call.func
    if isinstance(function, cst.Attribute):
        return function.attr.value
    return function.value if isinstance(function, cst.Name) else ""
