"""The helpers that conversions insert are what a person who uses black would have written."""

from __future__ import annotations

import ast
from string import Template

import black
import pytest

from transpile.prelude import closed, prelude_of

HELPERS = prelude_of("pytorch")


def rendered(name: str) -> str:
    """A helper under the names that it has where all are free."""
    source = HELPERS[name]
    words = {key: key for key, _ in source.modules}
    words.update({helper: helper for helper in (*source.helpers, name)})
    return Template(source.code.strip("\n")).substitute(words) + "\n"


@pytest.mark.parametrize("name", HELPERS)
def test_black_would_not_touch_it(name: str) -> None:
    text = rendered(name)
    assert black.format_str(text, mode=black.Mode(line_length=88)) == text


@pytest.mark.parametrize("name", HELPERS)
def test_it_runs_on_python_3_6(name: str) -> None:
    tree = ast.parse(rendered(name), feature_version=(3, 6))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    assert ast.get_docstring(definition)


@pytest.mark.parametrize("name", HELPERS)
def test_it_says_what_it_calls(name: str) -> None:
    source = HELPERS[name]
    known = {key for key, _ in source.modules} | set(source.helpers) | {name}
    for found in Template.pattern.finditer(source.code):
        assert (found.group("named") or found.group("braced")) in known
    assert set(closed([name], HELPERS)) >= {name, *source.helpers}
