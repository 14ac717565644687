"""What is loaded of libcst quickly is what it is otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = """\
import dataclasses, sys
{load}
import libcst
trees = [libcst.parse_module(open(path).read()) for path in sys.argv[1:]]
for tree in trees:
    print(tree, tree.code, tree.children)
for text in ("a = (", "a = 1 +* 2", "def f(:", "\\x00"):
    try:
        print(libcst.parse_module(text))
    except libcst.ParserSyntaxError as error:
        print(error)
print(libcst.parse_expression("a + f(b)"), libcst.parse_statement("a = 1"))
tree = libcst.parse_module("a = f(1)\\nb = 2")
print(tree.with_changes(body=tree.body[:1]).code, tree.deep_clone().deep_equals(tree))
print(tree == tree, tree == tree.deep_clone(), len({{tree, tree.body[0]}}))
print(libcst.Name("a"), libcst.Call(libcst.Name("a")), libcst.Module([]).code)
{check}
for name, kind in sorted(vars(libcst).items()):
    if isinstance(kind, type) and issubclass(kind, libcst.CSTNode):
        fields = [(f.name, type(f.default), f.init, f.type) for f in dataclasses.fields(kind)]
        print(name, [base.__name__ for base in kind.__mro__ if base.__module__ != "abc"
            and base.__module__ != "transpile.cli.tree_classes"], fields, kind.__match_args__)
import libcst.metadata
print(len(libcst.metadata.MetadataWrapper(tree).resolve(libcst.metadata.PositionProvider)))
print(libcst.parse_module(b"# -*- coding: latin-1 -*-\\n").encoding)
print(libcst.LIBCST_VERSION, sorted(libcst.__all__))
import libcst.matchers
print(len(libcst.matchers.findall(tree, libcst.matchers.Call())))
"""
QUICK = """\
from transpile.cli.tree_classes import load_libcst
load_libcst()
"""
IS_QUICK = """\
assert not {name for name in sys.modules if name.startswith(("libcst.metadata", "libcst._parser"))}
libcst.CSTValidationError, libcst.ensure_type
"""


def shown(load: str, check: str = "libcst.CSTValidationError") -> str:
    operators = ROOT / "transpile" / "facts" / "expressions" / "operators.py"
    paths = [ROOT / "tests" / "conftest.py", operators]
    script = SHOWN.format(load=load, check=check)
    words = [sys.executable, "-c", script, *map(str, paths)]
    done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def test_quick_classes_are_the_usual_ones() -> None:
    assert shown(QUICK, IS_QUICK) == shown("")


def test_another_libcst_is_loaded_as_it_is() -> None:
    broken = "import transpile.cli.tree_classes as quick\nquick._NODES = ('libcst.none',)\n"
    assert shown(f"{broken}quick.load_libcst()") == shown("")
