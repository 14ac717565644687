"""Arguments of calls that nothing says more of: a number of the batch there couples its samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from transpile.facts.values import Opaque, Value, Values
from transpile.records import replace

from . import algebra
from .domain import Kind, Quantity
from .looking import Looking
from .operations import ADDITIONS, PRODUCTS, QUOTIENTS, words
from .sample_axis.shapes import Given


class Further(NamedTuple):
    """An argument behind the tensors that a function works on.

    Args:
        name: what it is called in messages.
        values: what it may be.
    """

    name: str
    values: Values


def of_batch(quantity: Quantity) -> bool:
    """Whether a plain number is made of the samples of this process."""
    if quantity.kind is Kind.EQUAL:
        return bool(quantity.pending)
    return quantity.kind in (Kind.PART, Kind.UNKNOWN)


def argued(looking: Looking, word: str, found: Quantity, further: Iterable[Further]) -> Quantity:
    """What a function gives that is told by numbers of the batch, too.

    Args:
        looking: what looks at values.
        word: the function.
        found: what it gives but for them.
        further: its other arguments.
    """
    for one in further:
        if found.kind is Kind.UNKNOWN:
            break
        given = looking.look(one.values)
        if not of_batch(given):
            continue
        what = f"'{one.name}' of '{word}'"
        told = algebra.nonlinear(what, found, given)
        if told.kind is Kind.UNKNOWN:
            told = replace(told, reason=f"{told.reason}, and is {what}")
        found = told
    return found


def settings(made: Value) -> list[Further]:
    """The arguments that a layer was made with."""
    items = made.arguments.items if isinstance(made, Opaque) else ()
    return [
        Further(item.keyword or f"argument {place + 1}", item.values)
        for place, item in enumerate(items)
    ]


#: Arguments with keywords that operations look at, and those that only say how large or of what
#: kind a result is.
READ = words("""
    input self x y a b other tensor tensors out dtype device generator alpha dim dims axis axes
    condition index indices src source value values mat1 mat2 mat vec vec1 vec2 batch1 batch2 x1 x2
    min max a_min a_max size sizes shape newshape repeats reps repeat_times num_classes minlength
    dim_size length lengths total_length output_size split_size split_size_or_sections data object
    scale bias weights where operands equation sections
    """)
#: Operations on two tensors, or on one that has other settings.
SECOND = ADDITIONS | PRODUCTS | QUOTIENTS
FILLING = frozenset({"nan_to_num"})


def unread(word: str, value: Opaque, given: Given) -> list[Further]:
    """The arguments of a call that the operation itself does not look at."""
    found = [
        Further(item.keyword, item.values)
        for item in value.arguments.items
        if item.keyword is not None and item.keyword not in READ
    ]
    start = 0 if word in FILLING else 1 if word in SECOND else None
    if start is not None:
        ordered = value.arguments.positional()[given.offset + start :]
        found.extend(
            Further(f"argument {place + given.offset + start + 1}", item.values)
            for place, item in enumerate(ordered)
        )
    return found
