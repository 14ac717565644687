"""Telling the helpers of outputs from what a script defines itself.

They are known by their text: what somebody has changed is followed like anything else.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from textwrap import dedent

from transpile.facts.values import Function
from transpile.helpers.files import helpers_in


def is_helper(function: Function, helpers: Mapping[str, str]) -> bool:
    """Whether a function is one of some helpers.

    Args:
        function: the function.
        helpers: their names, to the modules that hold them.
    """
    module = helpers.get(function.name)
    if module is None:
        return False
    return parsed(function.module.source.code(function.node)) == emitted(module, function.name)


@cache
def emitted(module: str, name: str) -> str:
    """What a helper is, whatever its layout."""
    return parsed(helpers_in(module)[name].code.replace("$", ""))


def parsed(text: str) -> str:
    """What a text is, whatever its layout; empty where that cannot be told."""
    try:
        return ast.dump(ast.parse(dedent(text)))
    except SyntaxError:
        return ""
