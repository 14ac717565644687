"""The refusal of scripts that the analysis does not follow to their training, with the place."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.extent import TooLarge
from transpile.facts.state import TooComplex
from transpile.finding import Finding, Level
from transpile.rule import place


def too_complex(error: TooComplex | RecursionError, path: str) -> Finding:
    """The refusal of a script that cannot be followed, at the function that most work went to."""
    too = "the script is too complex to follow"
    message = f"{too}: its calls branch too often or nest too deeply"
    advice = "split the script, or convert the part that trains on its own"
    if isinstance(error, TooLarge):
        return Finding("DT001", Level.ERROR, error.path, 0, 0, f"{too}: {error}", advice)
    function = error.function if isinstance(error, TooComplex) else None
    if function is None or not isinstance(error, TooComplex):
        return Finding("DT001", Level.ERROR, path, 0, 0, message, advice)
    where, line, column = place(function.module, function.node)
    message = f"{message}; '{function.name}' was followed {error.times} times"
    return Finding("DT001", Level.ERROR, where, line, column, message, advice)


def hidden_behind(event: Event) -> Finding:
    """The refusal of a script whose training stands behind a call of something unknown."""
    where, line, column = place(event.module, event.node)
    callee = event.node.func if isinstance(event.node, cst.Call) else event.node
    said = event.module.source.code(callee)
    return Finding(
        "DT021",
        Level.ERROR,
        where,
        line,
        column,
        f"a backward pass may be reached through '{said}', which cannot be followed",
        "keep what trains in a variable, or in a list, that the script makes itself",
    )
