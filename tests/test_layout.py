"""Edits that know the layout: what they write is what a person would have written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from textwrap import dedent

import libcst
import pytest

from transpile.layout import (
    add_argument,
    append_to_body,
    decorate,
    guard,
    insert_after,
    insert_after_imports,
    insert_at_start_of_body,
    insert_before,
    insert_import,
    remove_argument,
    remove_statement,
    remove_statements,
    replace_argument_value,
    replace_expression,
    replace_statement,
    wrap_expression,
)
from transpile.layout.lines import Statement
from transpile.layout.long_lines import grown_lines
from transpile.layout.shared_guards import with_shared_guards
from transpile.text.edit import Edit, apply_edits, apply_with_inverse
from transpile.text.source import Source, read_source


def read(text: str) -> Source:
    return read_source(text.encode(), "train.py")


def applied(source: Source, *edits: Sequence[Edit]) -> str:
    """Apply edits; what comes out must parse, and must be undone byte for byte."""
    flat = [edit for group in edits for edit in group]
    result, inverse = apply_with_inverse(source.text, flat)
    assert apply_edits(result, inverse) == source.text
    ast.parse(result)
    return result


def statement(source: Source, code: str) -> Statement:
    """The first small or compound statement whose code begins so."""
    for node in source.nodes:
        if isinstance(
            node, libcst.BaseSmallStatement | libcst.BaseCompoundStatement
        ) and source.code(node).startswith(code):
            return node
    raise LookupError(code)


def expression(source: Source, code: str) -> libcst.BaseExpression:
    for node in source.nodes:
        if isinstance(node, libcst.BaseExpression) and source.code(node) == code:
            return node
    raise LookupError(code)


def call(source: Source) -> libcst.Call:
    return next(node for node in source.nodes if isinstance(node, libcst.Call))


class TestInsertBefore:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f()\n", "new\nf()\n"),
            ("f()", "new\nf()"),
            ("a\n\nf()\n", "a\n\nnew\nf()\n"),
            ("a\n# why\n# so\nf()\n", "a\nnew\n# why\n# so\nf()\n"),
            ("a\n# other\n\n# why\nf()\n", "a\n# other\n\nnew\n# why\nf()\n"),
            ("# the file\nf()\n", "# the file\nnew\nf()\n"),
            ("#!/bin/python\n# coding: ascii\nf()\n", "#!/bin/python\n# coding: ascii\nnew\nf()\n"),
            ("if x:\n    # why\n    f()\n", "if x:\n    new\n    # why\n    f()\n"),
            ("if x:\n\ta\n# out\n\tf()\n", "if x:\n\ta\n# out\n\tnew\n\tf()\n"),
            ("if x:\r\n  f()\r\n", "if x:\r\n  new\r\n  f()\r\n"),
            ("a; f()\n", "a\nnew\nf()\n"),
            ("a; f(); b  # c\n", "a\nnew\nf(); b  # c\n"),
            ("if x:\n    a;  f()", "if x:\n    a\n    new\n    f()"),
            ("if x: f()\n", "if x:\n    new\n    f()\n"),
            ("if x:f()\n", "if x:\n    new\n    f()\n"),
            (
                "if (x and\n        y): a; f()\n",
                "if (x and\n        y):\n    a\n    new\n    f()\n",
            ),
            ("if x: a\nelse: f()\n", "if x: a\nelse:\n    new\n    f()\n"),
            ("a; \\\n  f()\n", "a\nnew\nf()\n"),
            ("while x:\n\tif y: f()\n", "while x:\n\tif y:\n\t\tnew\n\t\tf()\n"),
        ],
    )
    def test_lines(self, text: str, expected: str) -> None:
        source = read(text)
        assert applied(source, insert_before(source, statement(source, "f()"), ["new"])) == expected

    def test_decorators_belong_to_the_statement(self) -> None:
        source = read("a\n# about\n@d\n@e\ndef f(): pass\n")
        edits = insert_before(source, statement(source, "def f"), ["new"])
        assert applied(source, edits) == "a\nnew\n# about\n@d\n@e\ndef f(): pass\n"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("class A:\n  # about\n  def f(self): pass\n",
             "class A:\n  # about\n  @d(\n    1\n  )\n  def f(self): pass\n"),
            ("class A:\r\n\tx = 1\r\n\r\n\tdef f(self):\r\n\t\tpass\r\n",
             "class A:\r\n\tx = 1\r\n\r\n\t@d(\r\n\t\t1\r\n\t)\r\n\tdef f(self):\r\n\t\tpass\r\n"),
        ],
    )  # fmt: skip
    def test_a_decorator_stands_below_comments(self, text: str, expected: str) -> None:
        source = read(text)
        function = statement(source, "def f")
        assert isinstance(function, libcst.FunctionDef)
        assert applied(source, decorate(source, function, ["@d(", "    1", ")"])) == expected

    def test_relative_indentation_becomes_the_files_own(self) -> None:
        source = read("if x:\n\tf()\n")
        lines = ["if a:", "    if b:", "        c(1,", "          2)", "", "d"]
        expected = "if x:\n\tif a:\n\t\tif b:\n\t\t\tc(1,\n\t\t\t  2)\n\n\td\n\tf()\n"
        assert applied(source, insert_before(source, statement(source, "f()"), lines)) == expected

    def test_order(self) -> None:
        source = read("f()\n")
        place = statement(source, "f()")
        edits = [
            insert_before(source, place, [name], order) for name, order in [("b", 1), ("a", 0)]
        ]
        assert applied(source, *edits) == "a\nb\nf()\n"

    def test_whole_lines_are_statements_too(self) -> None:
        source = read("a; b\n")
        assert applied(source, insert_before(source, source.tree.body[0], ["new"])) == "new\na; b\n"

    def test_elif_is_refused(self) -> None:
        source = read("if x:\n    a\nelif y:\n    b\n")
        clause = statement(source, "elif")
        with pytest.raises(ValueError, match="elif"):
            insert_before(source, clause, ["new"])


class TestInsertAfter:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f()\n", "f()\nnew\n"),
            ("f()", "f()\nnew"),
            ("f()  # c", "f()  # c\nnew"),
            ("f()  # c\n\na\n", "f()  # c\nnew\n\na\n"),
            ("f()\r\na\r\n", "f()\r\nnew\r\na\r\n"),
            ("if x:\n    f()\n    # c\na\n", "if x:\n    f()\n    new\n    # c\na\n"),
            ("f(); a  # c\n", "f()\nnew\na  # c\n"),
            ("f();\n", "f();\nnew\n"),
            ("a; f()\n", "a; f()\nnew\n"),
            ("a; f(); b\n", "a; f()\nnew\nb\n"),
            ("if x: a; f()\n", "if x:\n    a; f()\n    new\n"),
            ("if x: f()\n", "if x:\n    f()\n    new\n"),
            ("if x: f()", "if x:\n    f()\n    new"),
            ("if x: f(); a\n", "if x:\n    f()\n    new\n    a\n"),
            ("f(\n  1)\n", "f(\n  1)\nnew\n"),
            ("if x:\n  f()", "if x:\n  f()\n  new"),
        ],
    )
    def test_lines(self, text: str, expected: str) -> None:
        source = read(text)
        found = statement(source, "f(")
        assert applied(source, insert_after(source, found, ["new"])) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("if x:\n    a\nb\n", "if x:\n    a\nnew\nb\n"),
            ("if x:\n    a\n    # in\n# out\nb\n", "if x:\n    a\n    # in\nnew\n# out\nb\n"),
            ("if x:\n    a\n\n    # in\n\nb\n", "if x:\n    a\n\n    # in\nnew\n\nb\n"),
            ("if x:\n    a\nelse:\n    b", "if x:\n    a\nelse:\n    b\nnew"),
            ("if x:\n    a\n    # in", "if x:\n    a\n    # in\nnew"),
            ("if x: a\n", "if x: a\nnew\n"),
        ],
    )
    def test_compound(self, text: str, expected: str) -> None:
        source = read(text)
        edits = insert_after(source, statement(source, "if x"), ["new"])
        assert applied(source, edits) == expected

    def test_inner_blocks_come_before_outer_ones(self) -> None:
        source = read("for a in b:\n    for c in d:\n        f()\ng()\n")
        edits = [
            insert_before(source, statement(source, "g()"), ["4"]),
            insert_after(source, statement(source, "for a"), ["3"]),
            insert_after(source, statement(source, "for c"), ["2"]),
            insert_after(source, statement(source, "f()"), ["1"]),
        ]
        expected = "for a in b:\n    for c in d:\n        f()\n        1\n    2\n3\n4\ng()\n"
        assert applied(source, *edits) == expected

    def test_at_the_end_of_a_file_without_newline_too(self) -> None:
        source = read("for a in b:\n    f()")
        edits = [
            insert_after(source, statement(source, "for a"), ["2"]),
            insert_after(source, statement(source, "f()"), ["1"]),
            wrap_expression(source, expression(source, "f()"), "(", ")"),
        ]
        assert applied(source, *edits) == "for a in b:\n    (f())\n    1\n2"

    def test_a_shared_line_is_split_once(self) -> None:
        source = read("a; f(); b\n")
        edits = [
            insert_before(source, statement(source, "f()"), ["1"]),
            insert_after(source, statement(source, "f()"), ["2"]),
            insert_after(source, statement(source, "a"), ["0"]),
            guard(source, statement(source, "f()"), statement(source, "f()"), "if x:"),
        ]
        assert applied(source, *edits) == "a\n0\n1\nif x:\n    f()\n2\nb\n"


class TestBodies:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("def f():\n    '''doc'''\n    a\n", "def f():\n    '''doc'''\n    new\n    a\n"),
            ("def f():\n    '''doc'''\n", "def f():\n    '''doc'''\n    new\n"),
            ("def f(): pass\n", "def f():\n    new\n    pass\n"),
            ("for a in b:\n    'no doc'\n", "for a in b:\n    new\n    'no doc'\n"),
            ("with a:  # c\n\n    # d\n    b\n", "with a:  # c\n\n    new\n    # d\n    b\n"),
            ("while a: b; c\n", "while a:\n    new\n    b; c\n"),
        ],
    )
    def test_start(self, text: str, expected: str) -> None:
        source = read(text)
        edits = insert_at_start_of_body(source, source.tree.body[0], ["new"])
        assert applied(source, edits) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("for a in b:\n    c\nd\n", "for a in b:\n    c\n    new\nd\n"),
            ("for a in b:\n    c\nelse:\n    d\n", "for a in b:\n    c\n    new\nelse:\n    d\n"),
            ("for a in b: c\n", "for a in b:\n    c\n    new\n"),
            ("for a in b:\n    if c:\n        d\n", "for a in b:\n    if c:\n        d\n    new\n"),
            ("for a in b:\n    c; d\n", "for a in b:\n    c; d\n    new\n"),
        ],
    )
    def test_end(self, text: str, expected: str) -> None:
        source = read(text)
        edits = append_to_body(source, source.tree.body[0], ["new"])
        assert applied(source, edits) == expected

    def test_other_clauses_have_bodies_too(self) -> None:
        source = read("try:\n    a\nexcept E: b\nelse:\n    c\nfinally:\n    d\n")
        kinds = (libcst.Try, libcst.ExceptHandler, libcst.Else, libcst.Finally)
        owners = [next(n for n in source.nodes if isinstance(n, kind)) for kind in kinds]
        edits = [append_to_body(source, owner, [f"x{i}"]) for i, owner in enumerate(owners)]
        assert applied(source, *edits) == (
            "try:\n    a\n    x0\nexcept E:\n    b\n    x1\n"
            "else:\n    c\n    x2\nfinally:\n    d\n    x3\n"
        )

    def test_what_has_no_block_is_refused(self) -> None:
        source = read("f = lambda: 1\n")
        with pytest.raises(TypeError):
            append_to_body(source, expression(source, "lambda: 1"), ["new"])


class TestGuard:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f()\n", "if m():\n    f()\n"),
            ("f()", "if m():\n    f()"),
            ("# why\nf()  # c\ng()\n", "# why\nif m():\n    f()  # c\ng()\n"),
            ("if x:\n\tf()\n", "if x:\n\tif m():\n\t\tf()\n"),
            ("if x:\r\n  f(1,\r\n    2)\r\n", "if x:\r\n  if m():\r\n    f(1,\r\n      2)\r\n"),
            ("a; f(); b\n", "a\nif m():\n    f()\nb\n"),
            ("if x: f()\n", "if x:\n    if m():\n        f()\n"),
            ("f('''a\n  b''', c,\n d)\n", "if m():\n    f('''a\n  b''', c,\n     d)\n"),
            ("f(f'''a\n{b}''')\n", "if m():\n    f(f'''a\n{b}''')\n"),
            ("f('a\\\nb', \\\nc)\n", "if m():\n    f('a\\\nb', \\\n    c)\n"),
        ],
    )
    def test_one(self, text: str, expected: str) -> None:
        source = read(text)
        found = statement(source, "f(")
        assert applied(source, guard(source, found, found, "if m():")) == expected

    def test_several_with_comments_blank_lines_and_decorators(self) -> None:
        text = "a = 1\n\n  # odd\n# even\n@d\ndef f():\n    '''x\n   y'''\n\n    return 1\nb\n"
        source = read(text)
        edits = guard(source, statement(source, "a"), statement(source, "def"), "if m():")
        assert applied(source, edits) == (
            "if m():\n    a = 1\n\n      # odd\n    # even\n    @d\n    def f():\n"
            "        '''x\n   y'''\n\n        return 1\nb\n"
        )

    def test_nested_and_edited(self) -> None:
        source = read("f(1)\ng(2)\n")
        f, g = statement(source, "f("), statement(source, "g(")
        edits = [
            guard(source, f, g, "if a:"),
            guard(source, f, f, "if b:"),
            insert_before(source, f, ["0"]),
            insert_before(source, g, ["1"]),
            insert_after(source, g, ["2"]),
            replace_expression(source, expression(source, "1"), "x"),
            wrap_expression(source, expression(source, "g(2)"), "w(", ")"),
        ]
        expected = "0\nif a:\n    if b:\n        f(x)\n    1\n    w(g(2))\n2\n"
        assert applied(source, *edits) == expected

    def test_order_of_two_on_one_run(self) -> None:
        source = read("f()\n")
        found = statement(source, "f()")
        edits = [guard(source, found, found, f"if {n}:", n) for n in (2, 1)]
        assert applied(source, *edits) == "if 1:\n    if 2:\n        f()\n"

    def test_mixed_indentation_stays_consistent(self) -> None:
        text = "if a:\n\tb\nif x:\n    f()\n    if y:\n        z\n"
        source = read(text)
        assert source.indent == "\t"
        edits = guard(source, statement(source, "f()"), statement(source, "if y"), "if m():")
        expected = "if x:\n    if m():\n    \tf()\n    \tif y:\n    \t    z\n"
        assert applied(source, edits).endswith(expected)


class TestExpressions:
    def test_own_parentheses_stay_outside(self) -> None:
        source = read("a = (b)\n")
        edits = wrap_expression(source, expression(source, "b"), "f(", ")")
        assert applied(source, edits) == "a = (f(b))\n"

    @pytest.mark.parametrize(
        ("text", "code", "before", "after", "expected"),
        [
            ("a = b, c\n", "b, c", "f(", ")", "a = f((b, c))\n"),
            ("a = (b, c)\n", "b, c", "f(", ")", "a = f((b, c))\n"),
            ("a = b + c\n", "b + c", "f(", ", 2)", "a = f(b + c, 2)\n"),
            ("a = b + c\n", "b + c", "", " * 2", "a = (b + c) * 2\n"),
            ("a = (b + c)\n", "b + c", "", " * 2", "a = (b + c) * 2\n"),
            ("a = ()\n", "", "f(", ")", "a = f(())\n"),
            ("a = [()]\n", "", "f(", ", 1)", "a = [f((), 1)]\n"),
            ("a = b.c(d)\n", "b.c(d)", "", " * 2", "a = b.c(d) * 2\n"),
            ("f(i for i in j)\n", "i for i in j", "g(", ")", "f(g(i for i in j))\n"),
            ("f(i for i in j)\n", "i for i in j", "g(", ", 1)", "f(g((i for i in j), 1))\n"),
            ("if (a := b): pass\n", "a := b", "g(x=", ")", "if g(x=(a := b)): pass\n"),
        ],
    )
    def test_parentheses_come_where_they_are_needed(
        self, text: str, code: str, before: str, after: str, expected: str
    ) -> None:
        source = read(text)
        edits = wrap_expression(source, expression(source, code), before, after)
        assert applied(source, edits) == expected

    def test_parentheses_of_a_tuple_are_part_of_it(self) -> None:
        source = read("f((), a=(1, 2), b=(c))\n")
        edits = [
            replace_argument_value(source, call(source), argument, "x")
            for argument in call(source).args
        ]
        assert applied(source, *edits) == "f(x, a=x, b=(x))\n"

    def test_replaced_text_takes_the_files_newline(self) -> None:
        source = read("a = b\r\n")
        edits = replace_expression(source, expression(source, "b"), "f(\n    1\n)")
        assert applied(source, edits) == "a = f(\r\n    1\r\n)\r\n"


class TestArguments:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f()\n", "f(x=1)\n"),
            ("(f)(a)(b)\n", "(f)(a)(b, x=1)\n"),
            ("f ( a )\n", "f ( a, x=1 )\n"),
            ("f(a, *b)\n", "f(a, *b, x=1)\n"),
            ("f(a, b=(1), **c)\n", "f(a, b=(1), x=1, **c)\n"),
            ("f(i for i in j)\n", "f((i for i in j), x=1)\n"),
            ("f((i for i in j))\n", "f((i for i in j), x=1)\n"),
            ("f([i for i in j])\n", "f([i for i in j], x=1)\n"),
            ("a = (f(b))\n", "a = (f(b, x=1))\n"),
            (
                "if a:\r\n\tf(\r\n\t\tb,\r\n\t)\r\n",
                "if a:\r\n\tf(\r\n\t\tb,\r\n\t\tx=1,\r\n\t)\r\n",
            ),
            ("f(\n    a(\n        1\n    ),\n)\n", "f(\n    a(\n        1\n    ),\n    x=1,\n)\n"),
            ("f(\n    '''a\nb''',\n)\n", "f(\n    '''a\nb''',\n    x=1,\n)\n"),
            ("f('(,)', \")\")\n", "f('(,)', \")\", x=1)\n"),
        ],
    )
    def test_add(self, text: str, expected: str) -> None:
        source = read(text)
        assert applied(source, add_argument(source, call(source), "x=1")) == expected

    def test_several_on_one_call(self) -> None:
        source = read("x = DataLoader(data, batch_size=64, shuffle=True)\n")
        loader = call(source)
        edits = [
            add_argument(source, loader, "sampler=sampler"),
            remove_argument(source, loader, loader.args[2]),
            replace_argument_value(source, loader, loader.args[1], "batch_size // world_size"),
            wrap_expression(source, loader.args[0].value, "list(", ")"),
            add_argument(source, loader, "sampler=sampler"),
        ]
        assert applied(source, *edits) == (
            "x = DataLoader(list(data), batch_size=batch_size // world_size, sampler=sampler)\n"
        )

    def test_inside_a_guard(self) -> None:
        source = read("f(\n    a,\n    b=1,\n)\n")
        edits = [
            add_argument(source, call(source), "x=1"),
            remove_argument(source, call(source), call(source).args[1]),
            guard(source, source.tree.body[0], source.tree.body[0], "if m():"),
        ]
        assert applied(source, *edits) == "if m():\n    f(\n        a,\n        x=1,\n    )\n"

    def test_arguments_of_other_calls_are_refused(self) -> None:
        source = read("f(a)\ng(b)\n")
        first, second = (node for node in source.nodes if isinstance(node, libcst.Call))
        with pytest.raises(ValueError):
            remove_argument(source, first, second.args[0])
        with pytest.raises(ValueError):
            replace_argument_value(source, first, second.args[0], "c")


class TestRemove:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a\nf()\nb\n", "a\nb\n"),
            ("a\nf()  # c\nb\n", "a\nb\n"),
            ("a\n# c\nf(\n  1)\nb\n", "a\n# c\nb\n"),
            ("if x:\n    f()\n", "if x:\n    pass\n"),
            ("if x: f()\n", "if x: pass\n"),
            ("if x:\n    a; f()\n", "if x:\n    a\n"),
            ("if x:\n    f(); a\n", "if x:\n    a\n"),
            ("a; f(); b\n", "a; b\n"),
            ("if x: f(); a\n", "if x: a\n"),
            ("a\nf()", "a\n"),
        ],
    )
    def test_one(self, text: str, expected: str) -> None:
        source = read(text)
        assert applied(source, remove_statement(source, statement(source, "f("))) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("if x:\n    f(); g()\n", "if x:\n    pass\n"),
            ("if x:\n    f()\n    g()\n", "if x:\n    pass\n"),
            ("if x:\n    f(); a; g()\n", "if x:\n    a\n"),
            ("if x: f(); g()\n", "if x: pass\n"),
            ("f(); g()\na\n", "a\n"),
            ("a; f(); g()\n", "a\n"),
            ("f(); g(); a\n", "a\n"),
        ],
    )
    def test_several(self, text: str, expected: str) -> None:
        source = read(text)
        both = [statement(source, "f("), statement(source, "g(")]
        assert applied(source, remove_statements(source, both)) == expected

    def test_decorated(self) -> None:
        source = read("a\n@d\ndef f():\n    b\nc\n")
        assert applied(source, remove_statement(source, statement(source, "def"))) == "a\nc\n"

    def test_with_lines_put_around_it(self) -> None:
        source = read("if x:\n    f()\n    g()\n")
        place = statement(source, "f()")
        edits = [
            remove_statement(source, place),
            insert_before(source, place, ["1"]),
            insert_after(source, place, ["2"]),
        ]
        assert applied(source, *edits) == "if x:\n    1\n    2\n    g()\n"


class TestReplaceStatement:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("if x:\n\tf()  # c\n", "if x:\n\ta\n\tif b:\n\t\tc  # c\n"),
            ("if x: f()\n", "if x:\n    a\n    if b:\n        c\n"),
            ("x; f(); y\n", "x\na\nif b:\n    c\ny\n"),
        ],
    )
    def test_lines(self, text: str, expected: str) -> None:
        source = read(text)
        edits = replace_statement(source, statement(source, "f()"), ["a", "if b:", "    c"])
        assert applied(source, edits) == expected

    def test_one_line_needs_no_split(self) -> None:
        source = read("x; f(); y\n")
        assert (
            applied(source, replace_statement(source, statement(source, "f()"), ["a"]))
            == "x; a; y\n"
        )


class TestImports:
    lines = (
        "import os",
        "import torch.distributed as dist",
        "from torch.nn.parallel import DistributedDataParallel",
    )

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "import argparse\nimport torch\nimport torch.nn as nn\n"
                "from torch.utils import data\nfrom torchvision import datasets\nx = 1\n",
                "import argparse\nimport os\nimport torch\nimport torch.distributed as dist\n"
                "import torch.nn as nn\nfrom torch.nn.parallel import DistributedDataParallel\n"
                "from torch.utils import data\nfrom torchvision import datasets\nx = 1\n",
            ),
            (
                "import os\nimport torch.distributed as dist\nimport torch\nx = 1\n",
                "import os\nimport torch.distributed as dist\nimport torch\n"
                "from torch.nn.parallel import DistributedDataParallel\nx = 1\n",
            ),
            (
                '"""Doc."""\nfrom __future__ import annotations\n\nimport numpy as np\nx = 1\n',
                '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\n'
                "import numpy as np\nimport torch.distributed as dist\n"
                "from torch.nn.parallel import DistributedDataParallel\nx = 1\n",
            ),
            (
                '"""Doc."""\nx = 1\n',
                '"""Doc."""\n\nimport os\nimport torch.distributed as dist\n'
                "from torch.nn.parallel import DistributedDataParallel\nx = 1\n",
            ),
            (
                "# about\nx = 1\n",
                "# about\nimport os\nimport torch.distributed as dist\n"
                "from torch.nn.parallel import DistributedDataParallel\n\nx = 1\n",
            ),
        ],
    )
    def test_places(self, text: str, expected: str) -> None:
        source = read(text)
        assert applied(source, insert_import(source, self.lines)) == expected

    def test_nothing_goes_into_a_try_or_before_the_environment_is_set(self) -> None:
        text = (
            "import sys\nsys.path.append('.')\nos.environ['A'] = '1'\nimport model\n"
            "try:\n    import apex\nexcept ImportError:\n    apex = None\n\nx = 1\nimport late\n"
        )
        source = read(text)
        expected = text.replace("None\n", "None\nimport torch\n")
        assert applied(source, insert_import(source, ["import torch"])) == expected

    @pytest.mark.parametrize(
        "cell",
        [
            "try:\n    get_ipython().system('ls')\nexcept NameError:\n    pass\n",
            "SIZE = 2 * 8\n",
        ],
    )
    def test_the_first_cell_of_a_notebook_stays_above_the_imports(self, cell: str) -> None:
        source = read(f"{cell}import sys\nprint(sys)\n")
        assert applied(source, insert_import(source, ["import torch"])).startswith(
            f"{cell}import sys\nimport torch\n"
        )
        assert applied(source, insert_after_imports(source, "def f(): ...")).startswith(
            f"{cell}import sys\n\n\ndef f(): ...\n"
        )

    def test_two_askers_get_one_import(self) -> None:
        source = read("import torch\n")
        edits = [insert_import(source, [line]) for line in (*self.lines, *self.lines)]
        assert applied(source, *edits).count("import os") == 1

    def test_bindings_count_not_spellings(self) -> None:
        source = read("import os, sys\nfrom a import (\n    b,\n    c as d,\n)\n")
        known = ["import os", "import sys", "from a import b", "from a import c as d"]
        assert insert_import(source, known) == ()
        for line in ("import os as o", "from a import c", "from a import b as e", "import a"):
            assert insert_import(source, [line])

    def test_an_import_inside_a_function_binds_nothing_here(self) -> None:
        source = read("import a\n\n\ndef f():\n    import os\n")
        assert applied(source, insert_import(source, ["import os"])).startswith("import os\n")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("import a\n\nx = 1\n", "import a\n\n\n{}\n\n\nx = 1\n"),
            ("import a\nx = 1\n", "import a\n\n\n{}\n\n\nx = 1\n"),
            ("import a\n\n\nx = 1\n", "import a\n\n\n{}\n\n\nx = 1\n"),
            ("import a\n\n\n\nx = 1\n", "import a\n\n\n{}\n\n\n\nx = 1\n"),
            ("import a\n\n# c\nx = 1\n", "import a\n\n\n{}\n\n\n# c\nx = 1\n"),
            ("import a\n", "import a\n\n\n{}\n"),
            ("import a", "import a\n\n\n{}"),
            ('"""Doc."""\n\nx = 1\n', '"""Doc."""\n\n\n{}\n\n\nx = 1\n'),
            ("x = 1\n", "{}\n\n\nx = 1\n"),
        ],
    )
    def test_helpers_have_two_blank_lines_around(self, text: str, expected: str) -> None:
        source = read(text)
        helper = "def helper():\n    return 1"
        assert applied(source, insert_after_imports(source, helper)) == expected.format(helper)

    def test_helpers_come_after_new_imports(self) -> None:
        source = read("import torch\r\n\r\nif x:\r\n\ty\r\n")
        edits = [
            insert_after_imports(source, "def b():\n    return 1", order=1),
            insert_after_imports(source, "def a():\n    return 1"),
            insert_import(source, ["import zlib", "import torch.nn"]),
        ]
        assert applied(source, *edits) == (
            "import zlib\r\n\r\nimport torch\r\nimport torch.nn\r\n\r\n\r\ndef a():\r\n\treturn 1"
            "\r\n\r\n\r\ndef b():\r\n\treturn 1\r\n\r\n\r\nif x:\r\n\ty\r\n"
        )

    def test_what_is_inserted_is_what_black_writes(self) -> None:
        black = pytest.importorskip("black")
        text = dedent('''\
            """Doc."""

            import argparse

            import torch
            from torch import nn

            LIMIT = 1


            def main():
                loader = DataLoader(data, batch_size=64, shuffle=True)
                for x in loader:
                    print(x)
                    step(x)
            ''')
        source = read(text)
        printing = statement(source, "print(")
        loader = next(n for n in source.nodes if isinstance(n, libcst.Call))
        changes: list[Callable[[], Sequence[Edit]]] = [
            lambda: insert_import(source, self.lines),
            lambda: insert_after_imports(source, "def helper():\n    return 1"),
            lambda: guard(source, printing, printing, "if is_main_process():"),
            lambda: insert_before(source, statement(source, "for x"), ["setup()"]),
            lambda: insert_at_start_of_body(source, statement(source, "for x"), ["a = 1"]),
            lambda: append_to_body(source, statement(source, "def main"), ["if a:", "    b()"]),
            lambda: add_argument(source, loader, "sampler=sampler"),
            lambda: remove_argument(source, loader, loader.args[2]),
        ]
        result = applied(source, *(change() for change in changes))
        assert black.format_str(result, mode=black.Mode(line_length=100)) == result


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("count", [1, 2])
def test_lines_that_have_grown_are_found_without_comparing_all(start: int, count: int) -> None:
    old = [f"call_{number}(a, b)\n" for number in range(5)]
    grown = [f"call_{number}({'a, ' * 20}b)\n" for number in range(count)]
    new = [*old[:start], *grown, *old[start + count - 1 :]]
    found = {number for number in grown_lines(old, new, 40) if len(new[number]) > 41}
    compared = set(grown_lines([*old, "x" * 60], [*new, "x" * 60], 40))
    expected = set(range(start, start + count))
    assert found == {number for number in compared if len(new[number]) > 41} == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("if main():\n    a()\nif main():\n    b()\n", "if main():\n    a()\n    b()\n"),
        (
            "for x in y:\n    if size() > 1:\n        a()\n    if size() > 1:\n        b()\n"
            "    if size() > 1:\n        c()\n",
            "for x in y:\n    if size() > 1:\n        a()\n        b()\n        c()\n",
        ),
        ("if main():\n    a()\n\nif main():\n    b()\n", None),
        ("if main():\n    a()\n# More.\nif main():\n    b()\n", None),
        ("if main():\n    a()\nelse:\n    c()\nif main():\n    b()\n", None),
        ("if main():\n    a()\nif main():\n    b()\nelse:\n    c()\n", None),
        ("if main():\n    a()\nif other():\n    b()\n", None),
        ("if main(): a()\nif main():\n    b()\n", None),
        ('text = """\nif main():\n    a()\nif main():\n    b()\n"""\n', None),
        ("if own(x):\n    a()\nif own(x):\n    b()\n", None),
    ],
)
def test_neighbours_share_a_guard(after: str, expected: str | None) -> None:
    assert with_shared_guards("a()\nb()\n", after) == (expected or after)


def test_guards_of_the_script_stay_two() -> None:
    text = "if main():\n    a()\nif main():\n    b()\n"
    assert with_shared_guards(text, text + "c()\n") == text + "c()\n"
