"""Alternatives of an expression: each once, and not too many."""

from __future__ import annotations

from transpile.facts.values import (
    MOST_ALTERNATIVES,
    MOST_FOLLOWED,
    Arguments,
    Constant,
    External,
    Partial,
    Unknown,
    Value,
    join,
)
from transpile.text.source import read_source

NODE = read_source(b"pass\n", "train.py").tree
REST = Unknown("too many different values meet here")


def callables(count: int) -> list[Value]:
    return [Partial((External(f"f{number}"),), Arguments(), NODE) for number in range(count)]


def test_alternatives_come_once_and_in_order() -> None:
    one, two, other = Constant(1), Constant(2), External("torch.nn")
    assert join((one, other), (two, one), (other,)) == (one, other, two)
    assert join((Constant(1),), (Constant(True), Constant(1.0))) == (
        Constant(1), Constant(True), Constant(1.0)
    )  # fmt: skip


def test_data_may_have_many_alternatives_before_the_rest_is_unknown() -> None:
    numbers = [Constant(number) for number in range(MOST_ALTERNATIVES + 1)]
    assert join(numbers[:-1]) == tuple(numbers[:-1])
    assert join(numbers) == (*numbers[:-1], REST)


def test_what_is_followed_has_fewer() -> None:
    values = callables(MOST_FOLLOWED + 1)
    assert join(values[:-1]) == tuple(values[:-1])
    assert join(values) == (*values[:-1], REST)


def test_what_is_kept_does_not_depend_on_how_the_rest_comes_in() -> None:
    values: list[Value] = [*callables(MOST_FOLLOWED - 1), Constant(1), *callables(9), Constant(2)]
    whole = join(values)
    assert Constant(1) in whole and Constant(2) in whole and whole.count(REST) == 1
    for cut in range(len(values)):
        parts = join(join(values[:cut]), join(values[cut:]))
        assert set(parts) == set(whole)
        assert join(whole, values[cut:]) == whole
