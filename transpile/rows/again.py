"""Calls that repeat another one of the same run: what they give and do is known.

A loop that is followed round by round calls the same code on the same shapes over and over.
"""

from __future__ import annotations

from collections.abc import Callable

from transpile.facts.values import Constant, External, Function

from .domain import (
    Cell,
    Choice,
    Group,
    Held,
    Input,
    Known,
    Method,
    Number,
    Problem,
    Record,
    Tensor,
)
from .state import MOST_STEPS, Done, Made, Running


def once(
    run: Running, function: Function, names: dict[str, Known], enter: Callable[[], Known]
) -> Known:
    """What a call of a function gives, without running it again on what it was called with before.

    Only calls are kept that come to their end, store nothing, and look into no lists and dicts but
    those that they make themselves: others may hold something else the next time.
    """
    given = () if run.lifting else tuple(map(told_apart, names.values()))
    if run.lifting or None in given:
        return enter()
    call = (id(function), given, tuple(id(frame.function.node) for frame in run.frames))
    around = read_by_all(run)
    done = run.done.get((call, around))
    if done is not None and repeated(run, done):
        return done.result
    alive = (*names.values(), *run.stored.values())
    stores, sites, steps, met = run.stores, len(run.sites), run.steps, len(run.problems)
    touched, run.touched = run.touched, {}
    noise, run.noise = run.noise, False
    try:
        result = enter()
        made = left_there(run)
        same = (run.stores, len(run.sites), read_by_all(run)) == (stores, sites, around)
        if same and made is not None and told_apart(result) is not None:
            problems = tuple(run.problems[met:])
            done = Done(result, run.steps - steps, problems, run.noise, made, alive)
            run.done[call, around] = done
    finally:
        run.noise = run.noise or noise
        for cell, before in run.touched.items():
            touched.setdefault(cell, before)
        run.touched = touched
    return result


def repeated(run: Running, done: Done) -> bool:
    """Do to a run what a call has done before; False where this one may do something else."""
    made = [(Cell((node, (*run.context, *inner))), held) for node, inner, held in done.made]
    if run.steps + done.steps > MOST_STEPS or any(cell in run.heap for cell, _ in made):
        return False
    run.steps += done.steps
    run.problems.extend(done.problems)
    run.noise = run.noise or done.noise
    for cell, held in made:
        run.touched.setdefault(cell, False)
        run.heap[cell] = held
    return True


def left_there(run: Running) -> tuple[Made, ...] | None:
    """The lists and dicts that a call has made; None where it has looked into others."""
    depth = len(run.context)
    found: list[Made] = []
    for cell, before in run.touched.items():
        node, context = cell.key
        held = run.heap.get(cell)
        if before or context[:depth] != run.context:
            return None
        if held is not None:
            if told_apart(held) is None:
                return None
            found.append((node, context[depth:], held))
    return tuple(found)


def read_by_all(run: Running) -> object:
    """What any call may read of what others have done."""
    return (
        tuple((key, id(value)) for key, value in run.stored.items()),
        len(run.written),
        len(run.functions) if run.written else 0,
    )


def told_apart(value: Known) -> object:
    """What tells a value from all that differ from it in anything; None where nothing does."""
    kind = type(value)
    if kind in (Tensor, Number, Input):
        return value
    if isinstance(value, Constant):
        return (kind, type(value.value), repr(value.value))
    if isinstance(value, Held):
        return (kind, *(one if type(one) is External else id(one) for one in value.values))
    if isinstance(value, Problem):
        return (kind, id(value.module), id(value.node), value.reason, value.cause, value.rank)
    if isinstance(value, Method):
        base = told_apart(value.base)
        return None if base is None else (kind, base, value.word)
    parts: list[object] = []
    if isinstance(value, Choice):
        several: tuple[Known, ...] = value.options
    elif isinstance(value, Group):
        several = value.elements if value.rest is None else (*value.elements, value.rest)
        parts.append(value.rest is None)
    elif isinstance(value, Record):
        if not all(isinstance(key, str) for key, _ in value.entries):
            return None
        several = tuple(one for _, one in value.entries)
        several = several if value.rest is None else (*several, value.rest)
        keys = tuple(key for key, _ in value.entries)
        parts.extend((keys, value.rest is None, value.ordered, value.family, value.remade))
    else:
        # A list, a dict or a function of the followed code: what they hold may change.
        return None
    for one in several:
        part = told_apart(one)
        if part is None:
            return None
        parts.append(part)
    return (kind, *parts)
