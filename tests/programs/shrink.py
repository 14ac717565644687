"""Makes a failing program as small as it can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .program import Program, program


def shrunk(
    found: Program,
    fails: Callable[[Program], bool],
    fixed: Mapping[str, str] | None = None,
    attempts: int = 80,
) -> Program:
    """The program with as many choices as possible at their simplest, that still fails.

    Args:
        found: the program that fails.
        fails: whether another program fails in the same way.
        fixed: choices that were given already.
        attempts: after how many tries to stop.
    """
    given = dict(fixed or {})
    best = found
    tried: set[str] = {found.text}
    # Large parts first: half of all choices, then quarters, then each alone.
    size = max(1, len(best.taken) // 2)
    while attempts > 0:
        open_choices = [
            name for name, (position, _) in best.taken.items() if position and name not in given
        ]
        changed = False
        for start in range(0, len(open_choices), size):
            some = open_choices[start : start + size]
            simple = {**given, **dict.fromkeys(some, "")}
            smaller = program(found.seed, simple, found.without, found.gpus)
            if smaller.text in tried:
                given.update(dict.fromkeys(some, "") if smaller.text == best.text else {})
                continue
            tried.add(smaller.text)
            attempts -= 1
            if fails(smaller):
                given.update(dict.fromkeys(some, ""))
                best, changed = smaller, True
            if attempts <= 0:
                break
        if size == 1 and not changed:
            break
        size = max(1, size // 2) if not changed or size > 1 else 1
    return best
