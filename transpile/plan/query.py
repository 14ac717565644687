"""Questions about a plan, each answered once for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

Answers = dict[tuple[object, ...], tuple[tuple[object, ...], object]]


class Keeper(Protocol):
    """What keeps the answers to the questions that were asked about it."""

    @property
    def answered(self) -> Answers:
        """The answers, by question and arguments."""


K = TypeVar("K", bound=Keeper)
P = ParamSpec("P")
R = TypeVar("R")


def query(question: Callable[Concatenate[K, P], R]) -> Callable[Concatenate[K, P], R]:
    """Have a function of a plan be computed once for each plan and its further arguments.

    Words and numbers are the same argument where they are equal, anything else where it is the same
    object. The answer is shared: nobody may change it. A question that is asked again while it is
    being answered has no answer yet, and is computed anew.
    """

    @wraps(question)
    def answered(keeper: K, /, *args: P.args, **kwargs: P.kwargs) -> R:
        further: tuple[Any, ...] = (*args, *kwargs.values())
        key = (question, tuple(kwargs), *map(_told_apart, further))
        kept = keeper.answered.get(key)
        if kept is None:
            # The arguments are kept, so that no other object takes over their identity.
            kept = keeper.answered[key] = (further, question(keeper, *args, **kwargs))
        answer: Any = kept[1]
        return answer  # type: ignore[no-any-return]

    return answered


def _told_apart(argument: object) -> object:
    named = isinstance(argument, str | int | None)
    return (type(argument), argument) if named else id(argument)
