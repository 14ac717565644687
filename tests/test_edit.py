"""Applying edits: nesting, order at one offset, conflicts, and undoing them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile.text.edit import (
    ChangeList,
    CommaList,
    Edit,
    EditConflict,
    Indent,
    Insert,
    Move,
    Replace,
    apply_edits,
    apply_with_inverse,
    wrap,
)
from transpile.text.span import Span


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Apply edits in both orders, and undo them."""
    result, inverse = apply_with_inverse(text, edits)
    assert apply_edits(text, list(reversed(edits))) == result
    assert apply_edits(result, inverse) == text
    return result


class TestReplace:
    def test_several(self) -> None:
        edits = [Replace(Span(4, 5), "two"), Replace(Span(0, 1), "one")]
        assert applied("1 + 2", edits) == "one + two"

    def test_neighbours(self) -> None:
        assert applied("abc", [Replace(Span(0, 1), ""), Replace(Span(1, 3), "x")]) == "x"

    def test_identical_ones_count_once(self) -> None:
        assert applied("abc", [Replace(Span(0, 1), "x")] * 2) == "xbc"

    def test_empty_span_is_no_replacement(self) -> None:
        with pytest.raises(ValueError):
            Replace(Span(1, 1), "x")

    @pytest.mark.parametrize(
        "other",
        [
            Replace(Span(0, 3), "y"),
            Replace(Span(1, 2), "y"),
            Replace(Span(2, 5), "y"),
            Insert(1, "y"),
            Insert(2, "y", 0, "after", Span(0, 2)),
            Indent(Span(1, 2), "    "),
            Indent(Span(2, 5), "    "),
            Move(Span(4, 5), 1),
        ],
    )
    def test_nothing_reaches_into_it(self, other: Edit) -> None:
        first = Replace(Span(0, 3), "x")
        with pytest.raises(EditConflict) as caught:
            apply_edits("abcdef", [first, other])
        assert {caught.value.first, caught.value.second} == {first, other}
        assert str(first) in str(caught.value)
        assert str(other) in str(caught.value)

    def test_wraps_inside_it_conflict(self) -> None:
        with pytest.raises(EditConflict):
            apply_edits("abcdef", [Replace(Span(0, 3), "x"), *wrap(Span(0, 2), "(", ")")])

    def test_insertions_at_its_ends_do_not(self) -> None:
        edits: list[Edit] = [Replace(Span(1, 2), "x"), Insert(1, "<"), Insert(2, ">")]
        assert applied("abc", edits) == "a<x>c"

    def test_may_be_wrapped_whole(self) -> None:
        assert applied("abc", [Replace(Span(1, 2), "x"), *wrap(Span(1, 2), "(", ")")]) == "a(x)c"


class TestWrap:
    def test_order_at_one_offset(self) -> None:
        edits = [
            *wrap(Span(0, 1), "f(", ")"),
            *wrap(Span(0, 3), "g[", "]"),
            *wrap(Span(0, 3), "h{", "}", order=1),
            *wrap(Span(2, 3), "k<", ">"),
        ]
        assert applied("a+b", edits) == "g[h{f(a)+k<b>}]"

    def test_closers_come_before_plain_texts_and_those_before_openers(self) -> None:
        edits = [*wrap(Span(0, 1), "(", ")"), *wrap(Span(1, 2), "[", "]"), Insert(1, ", ")]
        assert applied("ab", edits) == "(a), [b]"

    def test_identical_ones_count_once(self) -> None:
        assert applied("a", [*wrap(Span(0, 1), "(", ")"), *wrap(Span(0, 1), "(", ")")]) == "(a)"

    def test_crossing_is_a_conflict(self) -> None:
        with pytest.raises(EditConflict, match="overlap in part"):
            apply_edits("abc", [*wrap(Span(0, 2), "(", ")"), *wrap(Span(1, 3), "[", "]")])

    def test_empty_span_cannot_be_wrapped(self) -> None:
        with pytest.raises(ValueError):
            wrap(Span(1, 1), "(", ")")


class TestInsert:
    def test_plain_ones_by_order_then_text(self) -> None:
        edits = [Insert(1, "c", 1), Insert(1, "b"), Insert(1, "a"), Insert(1, "z", -1)]
        assert applied("[]", edits) == "[zabc]"

    def test_what_belongs_to_inner_spans_comes_first_behind_and_last_before(self) -> None:
        inner, outer = Span(2, 4), Span(0, 4)
        following, first = Span(4, 9), Span(4, 6)
        edits = [
            Insert(4, "outer ", 0, "after", outer),
            Insert(4, "inner ", 0, "after", inner),
            Insert(4, "part ", 0, "before", first),
            Insert(4, "whole ", 0, "before", following),
            Insert(4, "plain "),
        ]
        assert applied("abcdefghi", edits) == "abcdinner outer plain whole part efghi"

    def test_an_anchor_is_needed_for_all_but_plain_ones(self) -> None:
        with pytest.raises(ValueError):
            Insert(0, "x", side="after")
        with pytest.raises(ValueError):
            Insert(0, "x", anchor=Span(0, 1))

    @pytest.mark.parametrize(
        "edit",
        [
            Insert(9, "x"),
            Replace(Span(2, 9), "x"),
            Insert(0, "x", 0, "before", Span(0, 9)),
            Move(Span(0, 1), 9),
        ],
    )
    def test_beyond_the_text(self, edit: Edit) -> None:
        with pytest.raises(EditConflict):
            apply_edits("abc", [edit])


class TestIndent:
    text = "f()\nx = '''a\nb'''\n\ng(1,\n  2)\nh()\n"

    def guard(self, start: str, end: str, header: str, order: int = 0) -> Indent:
        span = Span(self.text.index(start), self.text.index(end) + len(end))
        string = Span(self.text.index("'''"), self.text.rindex("'''") + 3)
        return Indent(span, "    ", "", f"{header}\n    ", order, (string,))

    def test_blank_lines_and_strings_stay(self) -> None:
        edits = [self.guard("x =", "2)", "if a:")]
        expected = "f()\nif a:\n    x = '''a\nb'''\n\n    g(1,\n      2)\nh()\n"
        assert applied(self.text, edits) == expected

    def test_nested(self) -> None:
        edits = [self.guard("f", "2)", "if a:"), self.guard("g(", "2)", "if b:")]
        expected = (
            "if a:\n    f()\n    x = '''a\nb'''\n\n" "    if b:\n        g(1,\n          2)\nh()\n"
        )
        assert applied(self.text, edits) == expected

    def test_equal_spans_nest_by_order(self) -> None:
        span = Span(self.text.index("h"), len(self.text) - 1)
        edits = [
            Indent(span, "  ", "", "if b:\n  ", order=1),
            Indent(span, "  ", "", "if a:\n  ", order=0),
        ]
        assert applied(self.text, edits).endswith("if a:\n  if b:\n    h()\n")

    def test_overlap_in_part_is_a_conflict(self) -> None:
        with pytest.raises(EditConflict):
            apply_edits(self.text, [self.guard("f", "b'''", "a"), self.guard("x", "2)", "b")])

    def test_inserted_lines_inside_are_indented_and_those_at_the_ends_are_not(self) -> None:
        guard = self.guard("g(", "2)", "if a:")
        start, end = guard.span.start, guard.span.end
        inner = Span(start + 2, end - 1)
        edits = [
            guard,
            Insert(start, "before\n", 0, "before", guard.span),
            Insert(end + 1, "after\n", 0, "after", guard.span),
            Insert(start + 5, "# in\n", 0, "before", inner),
            *wrap(guard.span, "w(", ")"),
        ]
        expected = "before\nif a:\n    w(g(1,\n    # in\n      2))\nafter\nh()\n"
        assert applied(self.text, edits).endswith(expected)

    def test_new_level_goes_behind_the_blocks_own_indentation(self) -> None:
        text = "    a(\n    \tb\n   c)\n"
        edit = Indent(Span(4, 19), "\t", "    ", "if x:\n    \t")
        assert applied(text, [edit]) == "    if x:\n    \ta(\n    \t\tb\n\t   c)\n"


class TestMove:
    def test_takes_its_edits_along(self) -> None:
        text = "a\nb\nc\n"
        edits: list[Edit] = [Move(Span(0, 2), 4), Replace(Span(0, 1), "x"), Insert(1, "y")]
        assert applied(text, edits) == "b\nxy\nc\n"

    def test_into_an_indented_block(self) -> None:
        text = "a\nb\nc\nd\n"
        edits: list[Edit] = [Move(Span(0, 2), 4), Indent(Span(2, 5), "  ", "", "if x:\n  ")]
        assert applied(text, edits) == "if x:\n  b\n  a\n  c\nd\n"

    def test_onto_itself_is_nonsense(self) -> None:
        with pytest.raises(ValueError):
            Move(Span(0, 2), 1)

    def test_circles_are_conflicts(self) -> None:
        with pytest.raises(EditConflict):
            apply_edits("abcdef", [Move(Span(0, 2), 4), Move(Span(3, 5), 1)])


def comma_list(text: str, last: int = 0) -> CommaList:
    """The list between the outermost parentheses of a text whose items are letters."""
    opening, closing = text.index("(") + 1, text.rindex(")")
    items = tuple(Span(i, i + 1) for i in range(opening, closing) if text[i].isalpha())
    return CommaList(opening, closing, items, last)


class TestChangeList:
    @pytest.mark.parametrize(
        ("text", "removed", "added", "expected"),
        [
            ("f()", (), ("x=1", "y=2"), "f(x=1, y=2)"),
            ("f( )", (), ("x=1",), "f(x=1)"),
            ("f(a)", (), ("x=1",), "f(a, x=1)"),
            ("f(a,)", (), ("x=1",), "f(a, x=1,)"),
            ("f(a)", (0,), (), "f()"),
            ("f(a,)", (0,), (), "f()"),
            ("f(a)", (0,), ("x=1",), "f(x=1)"),
            ("f(a, b, c)", (0,), (), "f(b, c)"),
            ("f(a, b, c)", (1,), (), "f(a, c)"),
            ("f(a, b, c)", (2,), (), "f(a, b)"),
            ("f(a, b, c)", (0, 2), (), "f(b)"),
            ("f(a, b, c)", (0, 1), ("x=1",), "f(c, x=1)"),
            ("f(a, b, c)", (1, 2), ("x=1",), "f(a, x=1)"),
            ("f(a, b, c)", (0, 1, 2), ("x=1",), "f(x=1)"),
            ("f(a, b)", (0, 1), (), "f()"),
            ("f(\n    a,\n    b,\n)", (), ("x=1",), "f(\n    a,\n    b,\n    x=1,\n)"),
            ("f(\n    a,\n    b\n)", (), ("x=1",), "f(\n    a,\n    b,\n    x=1\n)"),
            ("f(\n    a,\n    b)", (), ("x=1",), "f(\n    a,\n    b,\n    x=1)"),
            ("f(\n    a, b\n)", (), ("x=1",), "f(\n    a, b, x=1\n)"),
            ("f(a,\n  b)", (), ("x=1",), "f(a,\n  b,\n  x=1)"),
            ("f(a,\n  b)", (1,), ("x=1",), "f(a,\n  x=1)"),
            ("f(a,\n  b)", (0,), (), "f(b)"),
            ("f(\n    a,\n    b,\n)", (0,), (), "f(\n    b,\n)"),
            ("f(\n    a,\n    b,\n)", (1,), (), "f(\n    a,\n)"),
            ("f(\n    a,\n    b\n)", (1,), ("x=1",), "f(\n    a,\n    x=1,\n)"),
            ("f(\n    a,  # 1\n    b,  # 2\n)", (0,), ("x=1",), "f(\n    b,  # 2\n    x=1,\n)"),
            (
                "f(\n    a,  # 1\n    b  # 2\n)",
                (),
                ("x=1",),
                "f(\n    a,  # 1\n    b,  # 2\n    x=1\n)",
            ),
            ("f(\n    a,\n)", (0,), (), "f()"),
            ("f(\n    a,\n)", (0,), ("x=1", "y=1"), "f(\n    x=1,\n    y=1,\n)"),
            ("f(  # 1\n)", (), ("x=1",), "f(  # 1\nx=1)"),
            ("f(a,  # 1\n  b)", (1,), (), "f(a,  # 1\n  )"),
        ],
    )
    def test_commas(
        self, text: str, removed: tuple[int, ...], added: tuple[str, ...], expected: str
    ) -> None:
        target = comma_list(text)
        edits: list[Edit] = [ChangeList(target, removed=(index,)) for index in removed]
        edits += [ChangeList(target, added=(item,)) for item in added]
        assert applied(text, edits) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f(**k)", "f(x=1, **k)"),
            ("f(a, **k)", "f(a, x=1, **k)"),
            ("f(a, **k, **m)", "f(a, x=1, **k, **m)"),
            ("f(\n    a,\n    **k,\n)", "f(\n    a,\n    x=1,\n    **k,\n)"),
            ("f(\n    a,\n    **k\n)", "f(\n    a,\n    x=1,\n    **k\n)"),
        ],
    )
    def test_keywords_go_before_double_stars(self, text: str, expected: str) -> None:
        opening, closing = text.index("(") + 1, text.rindex(")")
        items = []
        for i in range(opening, closing):
            if text[i].isalpha():
                items.append(Span(i - 2 if text[i - 1] == "*" else i, i + 1))
        target = CommaList(opening, closing, tuple(items), text.count("**"))
        assert applied(text, [ChangeList(target, added=("x=1",))]) == expected

    def test_one_keyword_with_two_values_is_a_conflict(self) -> None:
        target = comma_list("f(a)")
        with pytest.raises(EditConflict):
            apply_edits("f(a)", [ChangeList(target, ("x=1",)), ChangeList(target, ("x = 2",))])

    def test_values_can_be_edited_at_the_same_time(self) -> None:
        text = "f(a, b)"
        target = comma_list(text)
        edits = [
            ChangeList(target, added=("x=1",), order=1),
            ChangeList(target, added=("y=1",)),
            ChangeList(target, removed=(0,)),
            *wrap(target.items[1], "g(", ")"),
            *wrap(Span(0, len(text)), "w(", ")"),
        ]
        assert applied(text, edits) == "w(f(g(b), y=1, x=1))"

    def test_removing_what_another_replaces_is_a_conflict(self) -> None:
        target = comma_list("f(a, b)")
        with pytest.raises(EditConflict):
            apply_edits("f(a, b)", [ChangeList(target, removed=(1,)), Replace(Span(5, 6), "x")])

    def test_every_choice_gives_a_call(self) -> None:
        """All removals and additions on calls of every style parse to the wanted arguments."""
        import ast

        styles = [
            "f({})".format(", ".join("abc")),
            "f(a, b, c,)",
            "f(\n    a,\n    b,\n    c,\n)",
            "f(\n    a,\n    b,\n    c\n)",
            "f(\n    a,\n    b,\n    c)",
            "f(a,\n  b,\n  c)",
            "f(a,  # 1\n  b,  # 2\n  c)",
            "f(\n    a, b,\n    c,\n)",
            "f(\n    a, b,\n    c)",
            "f(a, b,\n  c)",
            "f(\n    # 1\n    a,\n    # 2\n    b,\n    # 3\n    c,\n    # 4\n)",
            "f(\n    a, # 1\n    b # 2\n    , c # 3\n)",
            "f(\n    a\n    , b\n    , c\n)",
        ]
        for text in styles:
            target = comma_list(text)
            for size in range(4):
                for removed in itertools.combinations(range(3), size):
                    for added in ((), ("x=1",), ("x=1", "y=1")):
                        result = applied(text, [ChangeList(target, added, removed)])
                        call = ast.parse(result).body[0].value  # type: ignore[attr-defined]
                        kept = [name for i, name in enumerate("abc") if i not in removed]
                        assert [argument.id for argument in call.args] == kept, result
                        assert [k.arg for k in call.keywords] == [a[0] for a in added], result
                        assert ",," not in result.replace(" ", "")


@st.composite
def texts_and_edits(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(st.text("ab \n#\r\té", max_size=30))
    offsets = st.integers(0, len(text))

    def span() -> Span:
        start = draw(offsets)
        return Span(start, draw(st.integers(start, len(text))))

    edits: list[Edit] = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["replace", "insert", "wrap", "indent", "move"]))
        new = draw(st.text("xy\n ", max_size=4))
        place = span()
        order = draw(st.integers(0, 1))
        if kind == "insert":
            edits.append(Insert(place.start, new, order))
        elif place.start == place.end:
            continue
        elif kind == "replace":
            edits.append(Replace(place, new))
        elif kind == "wrap":
            edits += wrap(place, f"({new}", f"{new})", order)
        elif kind == "indent":
            edits.append(Indent(place, "  ", draw(st.sampled_from(["", " "])), new, order))
        else:
            offset = draw(offsets)
            if not place.start <= offset <= place.end:
                edits.append(Move(place, offset, order))
    return text, edits


def test_one_text_moves_to_one_place() -> None:
    moves: list[Edit] = [Move(Span(2, 4), 0), Move(Span(2, 4), 1)]
    for edits in (moves, moves[::-1]):
        with pytest.raises(EditConflict, match="two places"):
            apply_edits("aaa#", edits)


@settings(max_examples=400, deadline=None)
@given(texts_and_edits())
def test_undoing_gives_the_input_back_or_nothing_is_done(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    try:
        result, inverse = apply_with_inverse(text, edits)
    except EditConflict:
        return
    assert apply_edits(result, inverse) == text
    assert apply_edits(text, list(reversed(edits))) == result


def test_two_wraps_of_one_span_have_two_closers() -> None:
    span = Span(4, 5)
    for first, second in (("f(", "g("), ("ab(", "abc(")):
        edits = (*wrap(span, first, ")"), *wrap(span, second, ")"))
        for order in (edits, edits[::-1]):
            assert apply_edits("x = y\n", order) == f"x = {first}{second}y))\n"
    brackets = (*wrap(span, "f(", ")"), *wrap(span, "g[", "]"))
    assert apply_edits("x = y\n", brackets) == "x = f(g[y])\n"
