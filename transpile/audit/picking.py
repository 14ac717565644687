"""Functions of the project that a script picks by a name of which a part is written."""

from __future__ import annotations

import re

import libcst as cst

from transpile.audit.settling import Settling
from transpile.facts.values import (
    Arguments,
    Constant,
    Function,
    ModuleValue,
    Opaque,
    Value,
    Values,
    join,
    only_constant,
)

#: As many functions as that are followed where any of them may be meant.
MOST_PICKED = 6
#: So many letters of a name say which functions are meant.
FEWEST_LETTERS = 3
PLACEHOLDER = re.compile(r"%[a-z]|\{[^{}]*\}")


class Picking(Settling):
    """The part of a process's run that knows ``getattr(launchers, "init_%s" % name)``."""

    def builtin_getattr(self, arguments: Arguments, node: cst.CSTNode) -> Values:
        """The functions of a module whose names begin and end as the one that is computed."""
        given = [item.values for item in arguments.positional()]
        if len(given) >= 2 and only_constant(given[1]) is None:
            picked = self.picked(given[0], given[1])
            if picked:
                return join(picked, *given[2:3])
        return super().builtin_getattr(arguments, node)

    def picked(self, modules: Values, names: Values) -> Values:
        """The functions that are meant; none where they may be too many."""
        shape = shape_of(names)
        if shape is None or not all(isinstance(one, ModuleValue) for one in modules):
            return ()
        found: list[Value] = []
        for value in modules:
            assert isinstance(value, ModuleValue)
            self.import_module(value.module)
            bound = value.module.scope.names if value.module.scope is not None else {}
            for name, values in bound.items():
                if shape.fullmatch(name):
                    found.extend(one for one in values if isinstance(one, Function))
        return tuple(found) if len(found) <= MOST_PICKED else ()


def shape_of(names: Values) -> re.Pattern[str] | None:
    """What a computed name looks like; None where too little of it is written."""
    written = written_parts(names)
    if written is None or len("".join(filter(None, written))) < FEWEST_LETTERS:
        return None
    return re.compile("".join(r"\w+" if part is None else re.escape(part) for part in written))


def written_parts(names: Values) -> list[str | None] | None:
    """The parts of a text, None for those that are computed; None where nobody can tell."""
    constant = only_constant(names)
    if constant is not None:
        return [constant.value] if isinstance(constant.value, str) else None
    value = names[0] if len(names) == 1 else None
    if not isinstance(value, Opaque):
        return [None]
    if value.kind == "operation" and value.name == "Add":
        sides = [written_parts(side) for side in value.operands]
        return None if None in sides else [part for side in sides for part in side or ()]
    if value.kind == "operation" and value.name == "Modulo":
        return around_placeholders(value.operands[0])
    if value.kind == "operation" and value.name == "format":
        return of_formatted(value.node)
    for callee in value.callee:
        if isinstance(callee, Opaque) and callee.name == "format" and callee.operands:
            return around_placeholders(callee.operands[0])
    return [None]


def around_placeholders(values: Values) -> list[str | None] | None:
    """The parts of a text into which something is put."""
    constant = only_constant(values)
    if not isinstance(constant, Constant) or not isinstance(constant.value, str):
        return None
    parts: list[str | None] = []
    for part in PLACEHOLDER.split(constant.value):
        parts.extend((part, None))
    return parts[:-1]


def of_formatted(node: cst.CSTNode) -> list[str | None] | None:
    """The parts of a formatted string."""
    if not isinstance(node, cst.FormattedString):
        return None
    return [
        part.value if isinstance(part, cst.FormattedStringText) else None for part in node.parts
    ]
