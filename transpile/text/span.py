"""Half-open ranges of characters in a source text."""

from __future__ import annotations

from transpile.records import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """The characters ``text[start:end]`` of a source; offsets count characters, not bytes."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this span (equal spans contain each other)."""
        return self.start <= other.start and other.end <= self.end
