"""Questions about a plan are answered once, for each plan and each argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from transpile.plan.query import Answers, query


@dataclass(eq=False)
class Asked:
    """Something that keeps answers, and counts how often it was asked."""

    answered: Answers = field(default_factory=dict)
    count: int = 0


@query
def size(asked: Asked, *of: object, word: str = "") -> int | None:
    """Count, and say how much was given; nothing for nothing."""
    asked.count += 1
    return len(of) + len(word) if of else None


def test_an_answer_is_kept_with_the_one_that_was_asked() -> None:
    first, second = Asked(), Asked()
    assert size(first, "a") == size(first, "a") == size(second, "a") == 1
    assert (first.count, second.count) == (1, 1)


def test_no_answer_is_an_answer() -> None:
    asked = Asked()
    assert size(asked) is size(asked) is None
    assert asked.count == 1


def test_words_and_numbers_are_the_same_by_value_and_objects_by_identity() -> None:
    asked = Asked()
    size(asked, "".join(["a", "b"]), 12345678)
    size(asked, "ab", int("12345678"))
    assert asked.count == 1
    size(asked, [], word="a")
    size(asked, [], word="a")
    assert asked.count == 3
    same: list[int] = []
    size(asked, same, word="a")
    size(asked, same, word="a")
    size(asked, same, word="b")
    assert asked.count == 5


def test_true_is_not_one() -> None:
    asked = Asked()
    size(asked, 1)
    size(asked, True)
    assert asked.count == 2
