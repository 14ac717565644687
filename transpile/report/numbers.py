"""The numbers of a run before and after a conversion, as a table for people."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transpile.report.escape import log_line

if TYPE_CHECKING:
    from rich.text import Text

#: Columns of a table that goes to no terminal.
WIDTH = 120


def render(path: str, numbers: Mapping[str, Any], *, colour: bool, width: int | None) -> str:
    """Return the numbers as a table, and below it what there is to say about them.

    Args:
        path: the script.
        numbers: what :func:`transpile.arithmetic.account.account` found.
        colour: mark what changes with the colours of a terminal.
        width: the columns of the terminal; None where there is none.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    processes = numbers["processes"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column(plain(path), overflow="fold")
    table.add_column("1 process", overflow="fold")
    if numbers["converted"]:
        word = "process" if processes == 1 else "processes"
        table.add_column(f"{processes} {word}", overflow="fold")
        table.add_column("with other options", overflow="fold")
    for section in numbers["sections"]:
        title = f"{section['title']} (line {section['line']})"
        if section["path"] != path:
            title = f"{section['title']} ({section['path']}:{section['line']})"
        table.add_row(plain(title, "bold"))
        for figure in section["figures"]:
            table.add_row(*cells(figure, converted=numbers["converted"]))
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width or WIDTH,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        highlight=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    lines += [f"! {log_line(problem)}" for problem in numbers["problems"]]
    lines += [f"* {log_line(remark)}" for remark in numbers["remarks"]]
    return "".join(f"{line}\n" for line in lines)


def cells(figure: Mapping[str, Any], *, converted: bool) -> list[Text]:
    """One line of the table."""
    before, after = amount(figure["before"]), amount(figure["after"])
    found = [plain(f"  {figure['quantity']}"), plain(before)]
    if converted:
        found.append(plain(after, "" if before == after else "bold yellow"))
        others = (f"{words}: {amount(other)}" for words, other in figure["options"].items())
        found.append(plain("\n".join(others), "dim"))
    return found


def amount(found: Mapping[str, Any] | None) -> str:
    """A number, a formula or a list of them, in words."""
    if found is None:
        return "-"
    if "list" in found:
        shown = ", ".join(amount(each) for each in found["list"])
    elif "value" in found:
        value = found["value"]
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    else:
        shown = found["formula"]
    return f"at most {shown}" if found.get("at_most") else shown


def plain(words: str, style: str = "") -> Text:
    """Text that is shown as it is, whatever it holds."""
    from rich.text import Text

    lines = "\n".join(log_line(line) for line in words.split("\n"))
    return Text(lines, style=style)
