"""Calls as black writes them."""

from __future__ import annotations

from collections.abc import Sequence

#: The longest line that black leaves alone.
LINE_LENGTH = 88


def written_call(
    head: str, arguments: Sequence[str], indentation: int = 0, tail: str = ""
) -> list[str]:
    """The lines of ``head(arguments)tail``, split as black splits them.

    Args:
        head: what stands before the opening bracket, for example ``sampler = Sampler``.
        arguments: the arguments' texts, on one line each.
        indentation: columns that the first line will be indented by.
        tail: what stands behind the closing bracket.
    """
    room = LINE_LENGTH - indentation
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= room or not arguments:
        return [line]
    inner = f"    {', '.join(arguments)}"
    if len(inner) <= room:
        return [f"{head}(", inner, f"){tail}"]
    return [f"{head}(", *(f"    {argument}," for argument in arguments), f"){tail}"]
