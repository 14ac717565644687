"""The functions of the module ``operator``: operators, attributes, items and methods by name."""

from __future__ import annotations

import libcst as cst

from transpile.facts.calls.chosen_by_kind import ChosenByKind
from transpile.facts.expressions.asking import ARITHMETIC, UNARY
from transpile.facts.values import (
    Arguments,
    Class,
    Constant,
    External,
    Instance,
    Mapping,
    ModuleValue,
    Opaque,
    Sequence,
    Values,
    join,
    only_constant,
)

#: The functions of binary operators and comparisons, and the operators.
BINARY = {
    **{name + ("_" if name in ("and", "or") else ""): word for word, name in ARITHMETIC.items()},
    "concat": "Add", "eq": "Equal", "ne": "NotEqual", "lt": "LessThan", "gt": "GreaterThan",
    "le": "LessThanEqual", "ge": "GreaterThanEqual",
}  # fmt: skip
IN_PLACE = {"i" + name: word for word, name in ARITHMETIC.items()}
ALONE = {
    **{method.strip("_"): (method,) for method in UNARY.values()},
    "inv": ("__invert__",), "abs": ("__abs__",), "index": ("__index__",),
}  # fmt: skip
METHOD, ATTRIBUTES, ITEMS = "methodcaller", "attrgetter", "itemgetter"
#: What has items, or attributes, that the script can be seen to set.
WITH_ITEMS = (Sequence, Mapping, Instance, Class)
WITH_ATTRIBUTES = (Instance, Class, ModuleValue)


class OperatorFunctions(ChosenByKind):
    """The part of the interpreter that knows the functions of ``operator``."""

    def operator_function(
        self, name: str, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """What such a function gives for objects of the project; None for others."""
        package, _, word = name.rpartition(".")
        given = [item.values for item in arguments.positional()]
        if package != "operator" or arguments.unknown_because:
            return None
        if word in ALONE and len(given) == 1:
            found = self.answers(given[0], ALONE[word], (), node)
            return found if found != given[0] else None
        if word == "call" and given:
            passed = Arguments(arguments.items[1:])
            return self.invoke(given[0], passed, node)
        if len(given) != 2:
            return None
        left, right = given
        if word == "contains":
            return self.operated("In", right, left, node)
        if word == "getitem" and all(isinstance(value, WITH_ITEMS) for value in left):
            return self.item(left, right, node)
        if word in IN_PLACE:
            asked = self.ask_operator(IN_PLACE[word], left, right, node, in_place=True)
            return asked[0] if asked and not (asked[1] and asked[2]) else None
        return self.operated(BINARY[word], left, right, node) if word in BINARY else None

    def called_by_name(
        self, callee: Opaque, arguments: Arguments, node: cst.CSTNode
    ) -> Values | None:
        """What ``methodcaller("append", x)(found)`` and the like give; None for other callees."""
        if callee.kind != "call" or len(callee.callee) != 1 or len(arguments.items) != 1:
            return None
        maker = callee.callee[0]
        package, _, word = getattr(maker, "name", "").rpartition(".")
        made, base = callee.arguments, arguments.items[0].values
        if not isinstance(maker, External) or package != "operator" or not made.items:
            return None
        named = [only_constant(item.values) for item in made.items]
        if word == METHOD and named[0] is not None:
            method = self.attribute(base, str(named[0].value), node)
            passed = Arguments(made.items[1:], made.unknown_because, made.rest)
            return self.invoke(method, passed, callee.node)
        if made.unknown_because or None in named:
            return None
        found: list[Values] = []
        if word == ATTRIBUTES and all(isinstance(value, WITH_ATTRIBUTES) for value in base):
            for name in named:
                values = base
                for part in str(name.value if name else "").split("."):
                    values = self.attribute(values, part, node)
                found.append(values)
        elif word == ITEMS and all(isinstance(value, WITH_ITEMS) for value in base):
            found = [self.item(base, (key,), node) for key in named if isinstance(key, Constant)]
        if len(found) < 2:
            return join(*found) if found else None
        return (self.made_sequence(node, "tuple", found, ()),)
