"""The manual of a rule as Markdown."""

from __future__ import annotations

import re
import textwrap

_HEADING = re.compile(r"^([A-Z][a-z ]+):$", re.MULTILINE)
_CODE = re.compile(r"``(.+?)``", re.DOTALL)
_EXAMPLES = ("Before", "After")


def as_markdown(text: str) -> str:
    """Return a manual with its headings, examples and names in Markdown."""
    first, *rest = _HEADING.split(text)
    parts = [_prose(first)] if first.strip() else []
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"### {heading}")
        parts.append(_example(body) if heading in _EXAMPLES else _prose(body))
    return "\n\n".join(part for part in parts if part) + "\n"


def _prose(text: str) -> str:
    return _CODE.sub(r"`\1`", textwrap.dedent(text.strip("\n"))).strip()


def _example(text: str) -> str:
    return f"```python\n{textwrap.dedent(text.strip(chr(10))).rstrip()}\n```"
