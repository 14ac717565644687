"""Random edits of many layouts: the result is the original program plus what was put in.

What the edits put in carries marks, so that it can be taken out of the result's syntax tree again;
what is left must be the tree of the original.
"""

from __future__ import annotations

import ast
import codecs
import random
from collections.abc import Callable, Sequence

import libcst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile.layout import (
    add_argument,
    append_to_body,
    guard,
    insert_after,
    insert_after_imports,
    insert_at_start_of_body,
    insert_before,
    insert_import,
    wrap_expression,
)
from transpile.layout.lines import Statement
from transpile.layout.statements import body_statements
from transpile.text.edit import Edit, EditConflict, apply_edits, apply_with_inverse
from transpile.text.source import Source, read_source

SNIPPETS = (
    "import os\nimport torch\n",
    "from torch import (\n    nn,\n    optim,  # both\n)\n",
    "try:\n    import apex\nexcept ImportError:\n    apex = None\n",
    "# a comment that touches\nmodel = Net()\n",
    "a = 1; b = 2; f(a)  # three\n",
    "if a: b = 1; f(b)\nelif c: pass\nelse: d(1, 2)\n",
    "text = '''first\n  second\n\tthird'''\n",
    "text = f'''{a}\n  second {b!r:>10}''' 'x' \"\\\n y\"\n",
    "def main(x, *args, key=None, **options):\n"
    "    '''Doc.\n\n    More.\n    '''\n    return x + \\\n        key\n",
    "@decorate\n@decorate(1,\n          2)\nasync def run():\n"
    "    async with a as b:\n        await b(1)\n",
    "class Net(nn.Module):\n\n    # about size\n    size = 3\n\n"
    "    def forward(self, x): return self.f(x)\n",
    "loader = DataLoader(\n    data,  # the data\n    batch_size=64,\n    **options,\n)\n",
    "loader = DataLoader(data, batch_size=64,\n                    shuffle=True)\n",
    "total = sum(x for x in y)\n",
    "for epoch in range(3):\n    for x in loader:\n        step(x)\n"
    "        # inner end\n\n    # outer end\n\n",
    "while True:\n\n    with a(), b() as c:\n        break\n\nelse:\n    f()\n",
    "x = (yield_ or\n     other(\n  1))\n",
    "if (a and\n        b):\n    pass\n# dedented comment\n    f(a)\n",
    "lambda_ = lambda q, *r: g(q)[1:2]\n",
    "\n\n",
    "# just a comment\n\n",
    "print('done', end='')\n",
    "match command:\n    case [a, b]: f(a)\n    case _:\n        pass\n",
)


class _Unmark(ast.NodeTransformer):
    """Takes out what the edits have put in."""

    def visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self._unmarked(value))
        self.generic_visit(node)
        if isinstance(node, ast.Call):
            node.keywords = [k for k in node.keywords if k.arg != "added"]
            if isinstance(node.func, ast.Name) and node.func.id == "wrapped":
                return node.args[0]
        return node

    def _unmarked(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            dumped = ast.dump(statement)
            if isinstance(statement, ast.If) and "id='guarded'" in ast.dump(statement.test):
                result += self._unmarked(statement.body)
            elif "id='marked'" not in dumped.split("body=")[0] and "name='marked'" not in dumped:
                result.append(statement)
        return result


def meaning(text: str) -> str:
    return ast.dump(_Unmark().visit(ast.parse(text)))


def random_edit(source: Source, choice: random.Random) -> tuple[Edit, ...]:
    """One edit of a random kind at a random place."""
    nodes = list(source.nodes)

    def pick(*kinds: type[libcst.CSTNode]) -> libcst.CSTNode | None:
        found = [node for node in nodes if isinstance(node, kinds)]
        return choice.choice(found) if found else None

    def statement() -> Statement | None:
        found = [
            node
            for node in nodes
            if isinstance(node, libcst.BaseSmallStatement | libcst.BaseCompoundStatement)
            and not (isinstance(node, libcst.If) and isinstance(source.parent(node), libcst.If))
        ]
        return choice.choice(found) if found else None

    lines = [f"marked({choice.randint(0, 3)})"]
    if choice.random() < 0.3:
        lines = ["if marked:", "    f('''a''',", "      1)", "", f"marked({choice.randint(0, 3)})"]
    order = choice.randint(0, 1)
    kind = choice.randint(0, 7)
    place = statement()
    if kind == 0 and place is not None:
        return insert_before(source, place, lines, order)
    if kind == 1 and place is not None:
        return insert_after(source, place, lines, order)
    if kind in (2, 3):
        owner = pick(
            libcst.If, libcst.Else, libcst.For, libcst.While, libcst.With, libcst.FunctionDef
        )
        if owner is not None:
            put = append_to_body if kind == 2 else insert_at_start_of_body
            return put(source, owner, lines, order)
    if kind == 4:
        owner = pick(libcst.Module, libcst.If, libcst.For, libcst.FunctionDef, libcst.With)
        if owner is not None and (body := body_statements(owner)):
            first = choice.randrange(len(body))
            last = choice.randrange(first, len(body))
            return guard(source, body[first], body[last], "if guarded:", order)
    if kind == 5:
        call = pick(libcst.Call)
        if isinstance(call, libcst.Call):
            return add_argument(source, call, "added=1", order)
    if kind == 6:
        holder = pick(libcst.Assign, libcst.Expr, libcst.Return)
        value = getattr(holder, "value", None)
        if isinstance(value, libcst.BaseExpression):
            return wrap_expression(source, value, "wrapped(", ")", order)
    if kind == 7 and source.tree.body:
        if choice.random() < 0.5:
            return insert_import(source, ["import marked", "from a import marked"], order)
        return insert_after_imports(source, "def marked():\n    '''Doc.'''", order)
    return ()


def tabs(text: str) -> str:
    return "".join(
        "\t" * (len(line) - len(line.lstrip(" "))) + line.lstrip(" ")
        for line in text.splitlines(keepends=True)
    )


LAYOUTS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "tabs": lambda text: tabs(text).encode(),
    "mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "latin-1": lambda text: ("# coding: latin-1\n# é\n" + text).encode("latin-1"),
    "open end": lambda text: text.rstrip().encode(),
    "open crlf end": lambda text: text.rstrip().replace("\n", "\r\n").encode(),
    "form feeds": lambda text: text.replace("\nclass ", "\n\f\n\fclass ").encode(),
}
PROGRAMS = st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=5).map("".join)


@settings(max_examples=300, deadline=None)
@given(PROGRAMS, st.sampled_from(sorted(LAYOUTS)), st.integers(0, 2**32), st.integers(1, 8))
def test_edits_add_what_they_say_and_nothing_else(
    program: str, layout: str, seed: int, count: int
) -> None:
    data = LAYOUTS[layout](program)
    source = read_source(data, "train.py")
    choice = random.Random(seed)
    edits: list[Edit] = []
    for _ in range(count):
        more = random_edit(source, choice)
        try:
            apply_edits(source.text, [*edits, *more])
        except EditConflict:
            # Only guards of runs that cross each other, or that cut a wrapped expression.
            continue
        edits += more
    result, inverse = apply_with_inverse(source.text, edits)
    assert source.encode(apply_edits(result, inverse)) == data
    assert meaning(result) == meaning(source.text)
    assert result == apply_edits(source.text, list(reversed(edits)))
    if source.newline == "\r\n":
        assert "\n" not in result.replace("\r\n", "")
    if edits and source.text and not source.text.endswith("\n"):
        assert not result.endswith("\n\n")


@settings(max_examples=100, deadline=None)
@given(PROGRAMS, st.sampled_from(sorted(LAYOUTS)), st.integers(0, 2**32))
def test_lines_that_no_edit_touches_stay(program: str, layout: str, seed: int) -> None:
    """Insertions leave every line of a file as it is, byte for byte, and in order."""
    source = read_source(LAYOUTS[layout](program), "train.py")
    choice = random.Random(seed)
    lines = [node for node in source.nodes if isinstance(node, libcst.SimpleStatementLine)]
    if not lines:
        return
    edits = [
        edit
        for put in (insert_before, insert_after)
        for edit in put(source, choice.choice(lines), ["marked()"])
    ]
    result = iter(apply_edits(source.text, edits).split(source.newline))
    assert all(line in result for line in source.text.split(source.newline))


def test_conflicts_come_from_crossing_guards_only() -> None:
    source = read_source(b"a\nb\nc\n", "train.py")
    a, b, c = source.tree.body
    with pytest.raises(EditConflict):
        apply_edits(source.text, [*guard(source, a, b, "if x:"), *guard(source, b, c, "if y:")])
