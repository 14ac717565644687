"""A module of the project under analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.records import dataclass, field

if TYPE_CHECKING:
    from transpile.facts.values import Scope
    from transpile.text.source import Source


@dataclass(eq=False)
class Module:
    """A source file with its dotted name and, once run, its names.

    Args:
        name: dotted name as the importing script says it; ``__main__`` for the entry.
        source: its text and tree.
        is_package: whether it is an ``__init__``.
        star_externals: modules outside the project whose names came in by ``import *``.
    """

    name: str
    source: Source
    is_package: bool = False
    scope: Scope | None = None
    star_externals: list[str] = field(default_factory=list)

    @property
    def is_entry(self) -> bool:
        """Whether it is the script itself."""
        return self.name == "__main__"
