"""A rule's description with the colours of a terminal."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

_HEADING = re.compile(r"^(?P<title>[A-Z][\w ]*):$")
_CODE = ("Before", "After")


def highlighted(description: str) -> str:
    """Return `description` with bold headings and coloured code.

    Args:
        description: text whose headings stand alone on a line and end in a colon; what is indented
            below ``Before:`` and ``After:`` is Python.
    """
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard", highlight=False)
    for title, body in _sections(description):
        if title:
            console.print(Text(f"{title}:", style="bold"))
        if title in _CODE:
            syntax = Syntax("", "python", theme="ansi_dark", background_color="default")
            code = syntax.highlight(body.rstrip("\n"))
            code.rstrip()
            console.print(code, soft_wrap=True)
        else:
            console.print(Text(body.rstrip("\n")), soft_wrap=True)
        console.print()
    return written.getvalue()


def _sections(description: str) -> list[tuple[str, str]]:
    sections: list[tuple[str, str]] = [("", "")]
    for line in description.splitlines(keepends=True):
        heading = _HEADING.match(line.rstrip("\n"))
        if heading:
            sections.append((heading["title"], ""))
        else:
            title, body = sections[-1]
            sections[-1] = (title, body + line)
    return [section for section in sections if section != ("", "")]
