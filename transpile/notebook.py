"""Jupyter notebooks as scripts: the code of their cells in order, what only IPython knows aside."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from transpile.records import dataclass

_FORMAT = 4
#: Magics without a meaning for a script that trains.
_HARMLESS = frozenset(
    {
        *("autoreload", "capture", "config", "load_ext", "matplotlib", "pdb", "pinfo", "pprint"),
        *("precision", "prun", "pylab", "reload_ext", "tensorboard", "time", "timeit", "watermark"),
        *("xmode", "colors", "who", "whos", "memit", "mprun", "lprun", "html", "latex", "markdown"),
    }
)
#: Magics whose line, or whose cell, is Python that runs as it stands.
_RUNS_REST = frozenset({"time", "capture", "prun", "memit", "timeit"})
_MAGIC = re.compile(r"(?P<sign>%%?)(?P<name>\w+)(?P<rest>.*)$", re.DOTALL)
_ASSIGNED = re.compile(r"^\s*[\w., ]+=\s*[!%]")


class NotebookError(Exception):
    """A notebook that cannot be read as a script; the message is one line."""


@dataclass(frozen=True)
class SetAside:
    """A line that only IPython knows, which the script has as a comment.

    Args:
        line: its line in the script, 1-based.
        text: what it is.
        is_harmless: the script does the same without it.
    """

    line: int
    text: str
    is_harmless: bool


@dataclass(frozen=True)
class Notebook:
    """A notebook as a script.

    Args:
        text: the script.
        places: for each line of it, the number of its cell and its line there; 0 for lines between.
        set_aside: what only IPython knows.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    set_aside: tuple[SetAside, ...]

    def place(self, line: int) -> str:
        """How a person finds a line of the script in the notebook; empty for lines between."""
        cell, number = self.places[line - 1] if 0 < line <= len(self.places) else (0, 0)
        return f"cell {cell}, line {number}" if number else f"cell {cell}" if cell else ""


def is_notebook(path: str, data: bytes) -> bool:
    """Whether a file is a notebook, by its name or, under any name, by its content."""
    if path.endswith(".ipynb"):
        return True
    return data.lstrip()[:1] == b"{" and b'"cells"' in data and b'"nbformat"' in data


def read_notebook(data: bytes) -> Notebook:
    """Read a notebook.

    Raises:
        NotebookError: it is none, of an old format, not of Python, or takes values from IPython.
    """
    try:
        document: Any = json.loads(data)
        cells = document["cells"] if document["nbformat"] >= _FORMAT else None
        metadata = document.get("metadata", {})
        language = metadata.get("language_info", {}).get("name") or metadata.get(
            "kernelspec", {}
        ).get("language")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotebookError("is no Jupyter notebook that can be read") from error
    if cells is None:
        raise NotebookError("is a notebook of an old format: jupyter nbconvert --to notebook first")
    if language not in (None, "python", "ipython"):
        raise NotebookError(f"is a notebook of {language}, not of Python")
    return _script(cells)


def _script(cells: Any) -> Notebook:
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    set_aside: list[SetAside] = []
    for number, cell in enumerate(cells, start=1):
        kind, source = _cell(cell)
        if kind not in ("code", "markdown") or not source.strip():
            continue
        if lines:
            lines.append("")
            places.append((0, 0))
        lines.append(f"# %% cell {number}" + " [markdown]" * (kind == "markdown"))
        places.append((number, 0))
        if kind == "markdown":
            own = [f"# {line}".rstrip() for line in source.splitlines()]
        else:
            own, found = _code(source, number)
            set_aside += [
                SetAside(len(lines) + one.line, one.text, one.is_harmless) for one in found
            ]
        lines += own
        places += [(number, position) for position in range(1, len(own) + 1)]
    text = "".join(f"{line}\n" for line in lines)
    return Notebook(text, tuple(places), tuple(set_aside))


def _cell(cell: Any) -> tuple[str, str]:
    try:
        source = cell["source"]
        return str(cell["cell_type"]), source if isinstance(source, str) else "".join(source)
    except (KeyError, TypeError) as error:
        raise NotebookError("is no Jupyter notebook that can be read") from error


def _code(source: str, number: int) -> tuple[list[str], list[SetAside]]:
    """The lines of a cell as Python, and what is set aside in it."""
    lines = source.splitlines()
    first = next(index for index, line in enumerate(lines) if line.strip())
    whole = _MAGIC.match(lines[first])
    found: list[SetAside] = []
    if whole is not None and whole["sign"] == "%%":
        harmless = whole["name"] in _HARMLESS
        found.append(SetAside(first + 1, lines[first], harmless))
        if whole["name"] not in _RUNS_REST:
            return [f"# {line}".rstrip() for line in lines], found
        lines[first] = f"# {lines[first]}"
    while True:
        wrong = _first_error(lines)
        if wrong is None:
            return lines, sorted(found, key=lambda one: one.line)
        one = _set_aside(lines, wrong, number)
        if one is None:
            # What is wrong with it is said when the script is parsed.
            return lines, sorted(found, key=lambda one: one.line)
        found.append(one)


def _first_error(lines: list[str]) -> int | None:
    """The position of the line at which a cell is no Python; None where it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(lines))
    except SyntaxError as error:
        return min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    except ValueError:
        return len(lines)
    return None


def _set_aside(lines: list[str], wrong: int, number: int) -> SetAside | None:
    """Make a comment of a line that only IPython knows; None where it is none."""
    position = next(_candidates(lines, wrong), None)
    if position is None:
        return None
    text = lines[position].strip()
    if _ASSIGNED.match(text):
        raise NotebookError(
            f"takes a value from IPython in cell {number}, line {position + 1}, which a script "
            f"cannot: {text}"
        )
    indentation = lines[position][: len(lines[position]) - len(lines[position].lstrip())]
    magic = _MAGIC.match(text)
    if magic is not None and magic["name"] == "run":
        raise NotebookError(
            f"runs another script in cell {number}, line {position + 1}: import it instead"
        )
    if magic is not None and magic["name"] == "time" and magic["rest"].strip():
        lines[position] = f"{indentation}{magic['rest'].strip()}"
        return SetAside(position + 1, text, is_harmless=True)
    last = position
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    for index in range(position, last + 1):
        comment = f"# {lines[index].strip()}"
        # A block must not be left without a statement.
        empty = f"{indentation}pass  " if indentation and index == position else indentation
        lines[index] = f"{empty}{comment}"
    harmless = text.startswith("?") or text.endswith("?")
    harmless = harmless or (magic is not None and magic["name"] in _HARMLESS)
    return SetAside(position + 1, text, harmless)


def _candidates(lines: list[str], wrong: int) -> Iterator[int]:
    """The lines that may be the reason: the one that is named, or the nearest before."""
    for position in range(min(wrong, len(lines) - 1), -1, -1):
        text = lines[position].strip()
        if text.startswith(("%", "!", "?")) or text.endswith("?") or _ASSIGNED.match(text):
            yield position
