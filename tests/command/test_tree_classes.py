"""Loaded in half the time, libcst is what it is otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOWN = """\
import dataclasses, inspect, sys
{load}
import libcst
for path in sys.argv[1:]:
    print(libcst.parse_module(open(path, "rb").read()))
for name, kind in sorted(vars(libcst).items()):
    if isinstance(kind, type) and issubclass(kind, libcst.CSTNode):
        fields = [(f.name, type(f.default), f.init) for f in dataclasses.fields(kind)]
        print(name, kind.__mro__, fields, kind.__slots__, inspect.isabstract(kind))
tree = libcst.parse_module("a = f(1)\\nb = 2")
print(tree.with_changes(body=tree.body[:1]).code, tree.deep_clone().deep_equals(tree))
print(tree == tree, tree == tree.deep_clone(), len({{tree, tree.body[0]}}))
try:
    tree.body = []
except AttributeError as error:
    print(type(error), error)
import libcst.metadata
print(len(libcst.metadata.MetadataWrapper(tree).resolve(libcst.metadata.PositionProvider)))
"""
QUICK = """\
from transpile.cli.tree_classes import load_libcst
load_libcst()
import libcst._nodes.base
assert "libcst.metadata" not in sys.modules
assert libcst.Name.__init__.__name__ == "initialise"
"""


def shown(load: str) -> str:
    paths = [ROOT / "tests" / "conftest.py", ROOT / "transpile" / "facts" / "operators.py"]
    words = [sys.executable, "-c", SHOWN.format(load=load), *map(str, paths)]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_quick_classes_are_the_usual_ones() -> None:
    assert shown(QUICK) == shown("")


def test_another_libcst_is_loaded_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "import transpile.cli.tree_classes as quick\nquick._unfinished = None\n"
    assert shown(f"{broken}quick.load_libcst()") == shown("")
