"""The choices that a random program is made of."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Choices:
    """Draws choices by name, each from a generator of its own.

    One choice never changes what another draws, so that a program can be made simpler choice by
    choice: the first option of each is the simplest.

    Args:
        seed: the program's number.
        fixed: choices that are given; the first option where the given one is none.
        without: constructs that are never taken, unless nothing else is left.
        taken: every choice that was asked for: the option's position and label.
    """

    seed: int
    fixed: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    taken: dict[str, tuple[int, str]] = field(default_factory=dict)

    def pick(self, name: str, options: Sequence[str], weights: Sequence[float] = ()) -> str:
        """One of the options; the weights are relative, 1 where none is given."""
        if name in self.fixed:
            given = self.fixed[name]
            position = options.index(given) if given in options else 0
        else:
            chances: Sequence[float] = [*weights, *[1.0] * len(options)][: len(options)]
            if self.without:
                chances = self._allowed(name, options, chances)
            drawn = random.Random(f"{self.seed}/{name}")
            position = drawn.choices(range(len(options)), chances)[0]
        self.taken[name] = (position, options[position])
        return options[position]

    def _allowed(
        self, name: str, options: Sequence[str], chances: Sequence[float]
    ) -> Sequence[float]:
        allowed = [
            0.0 if construct(name, option) in self.without else chance
            for option, chance in zip(options, chances, strict=True)
        ]
        return allowed if any(allowed) else chances

    def chance(self, name: str, probability: float) -> bool:
        """True so often; False is the simpler."""
        return self.pick(name, ("no", "yes"), (1 - probability, probability)) == "yes"

    def number(self, name: str, *options: int) -> int:
        """One of some numbers."""
        return int(self.pick(name, [str(option) for option in options]))


def constructs(taken: Mapping[str, tuple[int, str]]) -> set[str]:
    """The names of what a program has: ``loss.kind=focal``, without the numbers of places."""
    found = set()
    for name, (_, label) in taken.items():
        if label not in ("no", "none") and not name.startswith("name."):
            found.add(construct(name, label))
    return found


def construct(name: str, label: str) -> str:
    """The name of a production: the choice, without numbers of places, and the option."""
    return f"{'.'.join(part for part in name.split('.') if not part.isdigit())}={label}"
