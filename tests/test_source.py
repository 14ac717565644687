"""Reading: bytes to text to tree, and the place of every node."""

from __future__ import annotations

import codecs
import itertools

import libcst
import pytest

from transpile.text.source import Source, SourceError, read_source
from transpile.text.span import Span


def read(text: str, encoding: str = "utf-8") -> Source:
    return read_source(text.encode(encoding), "train.py")


def find(source: Source, code: str, kind: type[libcst.CSTNode] = libcst.CSTNode) -> libcst.CSTNode:
    return next(
        node for node in source.nodes if isinstance(node, kind) and source.code(node) == code
    )


class TestText:
    def test_plain(self) -> None:
        source = read("a = 1\n")
        assert (source.path, source.text, source.encoding) == ("train.py", "a = 1\n", "utf-8")
        assert (source.has_bom, source.newline, source.indent) == (False, "\n", "    ")
        assert source.data == b"a = 1\n"

    def test_byte_order_mark_is_not_text(self) -> None:
        data = codecs.BOM_UTF8 + b"a = 1\n"
        source = read_source(data, "train.py")
        assert source.text == "a = 1\n"
        assert source.has_bom
        assert source.encode(source.text) == data
        assert source.span(source.tree.body[0]) == Span(0, 5)

    @pytest.mark.parametrize("name", ["latin-1", "iso-8859-15", "cp1252", "ascii", "gbk", "koi8-r"])
    def test_encodings_of_editors(self, name: str) -> None:
        word = {"ascii": "plain", "gbk": "中文", "koi8-r": "обучение"}.get(name, "é")
        data = f"#!/usr/bin/env python\n# -*- coding: {name} -*-\nprint('{word}')\n".encode(name)
        source = read_source(data, "train.py")
        assert word in source.text
        assert source.encode(source.text) == data
        assert source.code(source.tree.body[0]) == f"print('{word}')"

    def test_cookie_counts_in_the_first_two_lines_only(self) -> None:
        assert read("# one\n# two\n# coding: latin-1\nx = 'é'\n").encoding == "utf-8"
        assert read("import os\n# coding: latin-1\nx = 'é'\n").encoding == "utf-8"
        assert read_source(b"\n# vim: set fileencoding=latin-1 :\n", "x").encoding == "iso8859-1"

    @pytest.mark.parametrize(
        ("text", "newline"),
        [("a\r\nb\r\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a", "\n")],
    )
    def test_dominant_newline(self, text: str, newline: str) -> None:
        assert read(text).newline == newline

    @pytest.mark.parametrize(
        ("text", "indent"),
        [("if x:\n\ty\n", "\t"), ("if x:\n  y\n", "  "), ("x\n", "    "), ("if x:\n\f  y\n", "  ")],
    )
    def test_indentation(self, text: str, indent: str) -> None:
        assert read(text).indent == indent

    def test_encode_refuses_what_the_encoding_lacks(self) -> None:
        with pytest.raises(UnicodeEncodeError):
            read_source(b"# coding: ascii\n", "x").encode("é")


class TestPlaces:
    def test_statements_stand_without_comments_and_decorators(self) -> None:
        source = read("# about f\n@wrap\ndef f(x):\n    # about y\n    y = (x)  # end\n\n\nf(1)\n")
        function, call = source.tree.body
        assert source.code(function) == "def f(x):\n    # about y\n    y = (x)"
        assert source.code(call) == "f(1)"
        assert source.code(find(source, "wrap")) == "wrap"

    def test_own_parentheses_are_left_out_and_others_are_not(self) -> None:
        source = read("a = ((b) + c)\n")
        assert source.code(find(source, "(b) + c", libcst.BinaryOperation)) == "(b) + c"
        assert source.span(find(source, "b", libcst.Name)) == Span(6, 7)

    def test_parents(self) -> None:
        source = read("if x:\n    y = f(1)\n")
        call = find(source, "f(1)", libcst.Call)
        kinds = [type(node).__name__ for node in source.parents(call)]
        assert kinds == ["Assign", "SimpleStatementLine", "IndentedBlock", "If", "Module"]
        assert source.parent(source.tree) is None

    def test_foreign_nodes_are_refused(self) -> None:
        source = read("a\n")
        with pytest.raises(KeyError):
            source.span(libcst.Name("a"))

    def test_nodes_come_before_what_they_hold(self) -> None:
        source = read("if x:\n    y = f(1)\n")
        seen: set[libcst.CSTNode | None] = {None}
        for node in source.nodes:
            assert source.parent(node) in seen
            seen.add(node)

    def test_position_is_one_based(self) -> None:
        source = read("a\r\nbb = é\r\n")
        assert source.position(0) == (1, 1)
        assert source.position(source.text.index("é")) == (2, 6)
        assert source.position(len(source.text)) == (3, 1)

    def test_lines(self) -> None:
        source = read("if a:\r\n  bb\r\nc")
        inside = source.text.index("bb")
        assert source.line_start(inside) == 7
        assert source.next_line_start(inside) == 13
        assert source.next_line_start(13) == 14
        assert source.indentation_of(inside) == "  "

    def test_multiline_strings(self) -> None:
        source = read('a = """x\ny"""\nb = f"""{\na}\n"""\nc = "one"\nd = "x\\\ny"\n')
        found = [source.text[span.start : span.end] for span in source.multiline_strings]
        assert found == ['"""x\ny"""', 'f"""{\na}\n"""', '"x\\\ny"']

    def test_agrees_with_the_parsers_own_positions(self) -> None:
        from libcst.metadata import MetadataWrapper, PositionProvider

        text = (
            "@a\nclass B(C, metaclass=(D)):\n    '''doc'''\n    x: int = (1)\n\n"
            "    async def f(self, *a, b=1, **k) -> None:\n        async with a as b, c: await d\n"
            "        for i, (j, k) in (yield): pass\n        else: return [x for x in y if z]\n"
            "try:\n\timport a.b as c\nexcept (A, B) as e:\n\traise X from e\nfinally: del a, b\n"
            "with (open(f) as g):\n    print(f'{a!r:>{b}}' 'c', *d, e=1, **f); assert x, y\n"
            "lambda: (a if b else not c)[1:2, ...].d\n"
        )
        source = read(text)
        wrapper = MetadataWrapper(source.tree, unsafe_skip_copy=True)
        ranges = wrapper.resolve(PositionProvider)
        nodes = [
            node
            for node in source.nodes
            if not isinstance(node, libcst.Newline | libcst.EmptyLine | libcst.Module)
        ]
        assert len(nodes) > 200
        for node in nodes:
            span, expected = source.span(node), ranges[node]
            starts = (expected.start.line, expected.start.column + 1)
            ends = (expected.end.line, expected.end.column + 1)
            assert (source.position(span.start), source.position(span.end)) == (starts, ends)


PIECES = (
    "a\n",
    "if x:\n    b\n",
    "    \n",
    "\n",
    "  # c\n",
    "\f\n",
    "\fdef g(): pass\n",
    "b;\n",
    "if x:\n\t'''y\n z'''\n\t# d\n",
    "x = \\\n  1",
)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_every_layout_keeps_its_places(ending: str) -> None:
    """Blank tails, form feeds, missing last newlines: spans hold exactly the statements."""
    read_count = 0
    for length in range(4):
        for pieces in itertools.product(PIECES, repeat=length):
            text = "".join(pieces)
            if "1" in text[:-1]:
                continue
            source = read(text.replace("\n", ending))
            read_count += 1
            for node in source.nodes:
                span = source.span(node)
                assert span.end <= len(source.text)
                if isinstance(node, libcst.Name | libcst.BaseString):
                    code = source.code(node).replace(ending, "\n")
                    assert code in {"a", "b", "x", "g", "'''y\n z'''"}
            for statement in source.tree.body:
                assert source.code(statement).strip() == source.code(statement)
    assert read_count > 500


def test_errors_are_one_line_with_a_place() -> None:
    with pytest.raises(SourceError) as caught:
        read("a = 1\nb = = 2\n")
    assert caught.value.line == 2
    assert caught.value.column == 5
    assert caught.value.message == "syntax error: invalid syntax"
    assert str(caught.value) == caught.value.message


def test_nodes_of_some_kinds_stand_in_the_order_of_the_text() -> None:
    source = read("a = f(1)\nb = [g(2), h]\n")
    calls = source.nodes_of(libcst.Call)
    assert [source.code(call) for call in calls] == ["f(1)", "g(2)"]
    found = source.nodes_of(libcst.Integer, libcst.Call)
    assert [source.code(node) for node in found] == ["f(1)", "1", "g(2)", "2"]
    assert list(source.nodes_of(libcst.Yield)) == []
