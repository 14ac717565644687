"""Options of the command line that say which store to make."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, Constant, Opaque, Values, only_constant
from transpile.plan.model import Plan


def options_behind(plan: Plan, values: Values) -> Iterator[tuple[Event, Argument, str]]:
    """The declarations of options that values are read from, with defaults that are texts."""
    names = {
        value.name for value in values if isinstance(value, Opaque) and value.kind == "attribute"
    }
    for declared in plan.facts.calls:
        if not isinstance(declared.node, cst.Call):
            continue
        if not any(getattr(callee, "name", "") == "add_argument" for callee in declared.callee):
            continue
        default = declared.arguments.keyword("default")
        if names & destinations(declared) and default is not None and default.node is not None:
            constant = only_constant(default.values)
            if constant is not None and isinstance(constant.value, str):
                yield declared, default, constant.value


def destinations(declared: Event) -> set[str]:
    """The attribute that an option fills."""
    given = declared.arguments.keyword("dest")
    if given is not None:
        return {str(v.value) for v in given.values if isinstance(v, Constant)}
    words = [
        str(value.value)
        for argument in declared.arguments.positional()
        for value in argument.values
        if isinstance(value, Constant)
    ]
    long = [word for word in words if word.startswith("--")] or words
    return {word.lstrip("-").replace("-", "_") for word in long[:1]}
