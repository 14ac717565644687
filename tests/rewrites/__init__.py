"""Rewrites of scripts that keep their meaning: what the tool says of a script must not change.

Each is a function from a source to a source; one that finds nothing to do returns it as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from rewrites.imports import imported_by_other_names
from rewrites.names import renamed_locals
from rewrites.statements import (
    computed_in_functions,
    formatted_narrowly,
    with_named_conditions,
    with_statements_that_do_nothing,
)

Rewrite = Callable[[str], str]

REWRITES: dict[str, Rewrite] = {
    "formatted": formatted_narrowly,
    "renamed": renamed_locals,
    "idle": with_statements_that_do_nothing,
    "conditions": with_named_conditions,
    "functions": computed_in_functions,
    "imports": imported_by_other_names,
}
