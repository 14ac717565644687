"""Tests for what kind of value a name has: ``if isinstance(loss, Tensor): loss = loss.item()``.

What comes out of such a test is the number in either case: the tensor that it was taken out of does
not go on beside it.
"""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from transpile.facts.values import Constant, External, Opaque, Values

#: Builtins that ask what a value is, by their first argument.
ASKING = frozenset({"isinstance", "hasattr", "is_tensor"})
#: Builtins that give a number of what they are given.
NUMBERS = frozenset({"builtins.float", "builtins.int"})


def asked_kind(test: cst.BaseExpression) -> tuple[str, bool] | None:
    """The name that a test asks the kind of, and whether its first arm is that of this kind."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = asked_kind(test.expression)
        return None if inner is None else (inner[0], not inner[1])
    if not isinstance(test, cst.Call) or not test.args:
        return None
    func, first = test.func, test.args[0].value
    word = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")
    return (first.value, True) if word in ASKING and isinstance(first, cst.Name) else None


def narrowed(old: Values, forms: Values, words: Set[str]) -> Values:
    """The values that a name had and that no other form is taken of.

    Args:
        old: what the name was before it was asked of.
        forms: what it becomes in one arm.
        words: methods and attributes that give another form of what they belong to.
    """
    taken: set[int] = set()
    for form in forms:
        if not isinstance(form, Constant):
            taken.update(behind_forms(form, words))
    # All of them went the same way.
    whole = all(id(value) in taken for value in old if isinstance(value, Opaque))
    if not taken or not whole or any(value in forms for value in old if isinstance(value, Opaque)):
        return old
    return tuple(value for value in old if not isinstance(value, Opaque))


def behind_forms(value: object, words: Set[str]) -> set[int]:
    """The identities of what a value is another form of."""
    found: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if not isinstance(one, Opaque):
            continue
        if one.kind == "attribute" and one.name in words:
            inner = one.operands[0]
        elif one.kind == "call" and not one.callee:
            continue
        elif one.kind == "call":
            callee = one.callee[0]
            if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in words:
                inner = callee.operands[0]
            elif isinstance(callee, External) and callee.name in NUMBERS:
                given = one.arguments.positional()[:1]
                inner = given[0].values if given else ()
            else:
                continue
        else:
            continue
        found.update(id(each) for each in inner)
        pending.extend(inner)
    return found
