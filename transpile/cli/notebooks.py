"""Converting and auditing what was read, be it a script or a notebook."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.cli import codes
from transpile.cli.inputs import Content, Input
from transpile.cli.tree_classes import load_libcst
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.records import replace
from transpile.result import Outcome, Result

if TYPE_CHECKING:
    from transpile.notebook import Notebook


def convert_input(script: Input, content: Content, options: Options) -> Result:
    """Convert what was read; findings about a notebook name its cells.

    Raises:
        SourceError: it cannot be parsed.
    """
    load_libcst()
    from transpile.engine import convert

    if content.notebook is None:
        return convert(content.data, options, path=script.name)
    path, folder = _as_script(script)
    result = convert(content.data, options, path=path, folder=folder)
    found = [*result.findings, *_remarks(script, content.notebook, result.outcome)]
    return replace(
        result,
        findings=_in_cells(found, path, script, content.notebook),
        bound_to_place=_in_cells(result.bound_to_place, path, script, content.notebook),
    )


def audit_input(script: Input, content: Content, options: Options) -> tuple[Finding, ...]:
    """Audit what was read; findings about a notebook name its cells.

    Raises:
        SourceError: it cannot be parsed.
    """
    load_libcst()
    from transpile.auditing import audit

    if content.notebook is None:
        return audit(content.data, options, path=script.name)
    path, folder = _as_script(script)
    found = audit(content.data, options, path=path, folder=folder)
    return _in_cells(found, path, script, content.notebook)


def place_of(script: Input, content: Content, line: int) -> str:
    """What names a line of a notebook, to go before a message; empty for a script."""
    found = content.notebook.place(line) if content.notebook is not None else ""
    return f"{found}: " if found else ""


def _as_script(script: Input) -> tuple[str, Path]:
    """The path that the script of a notebook would have, and the folder of its modules."""
    stem, _ = os.path.splitext(script.path)
    return f"{stem}.py", Path(os.path.dirname(os.path.abspath(script.path)))


def _remarks(script: Input, notebook: Notebook, outcome: Outcome) -> Iterable[Finding]:
    path, _ = _as_script(script)
    for one in notebook.set_aside:
        level = Level.NOTE if one.is_harmless else Level.WARNING
        message = f"set aside, as only IPython knows it: {one.text}"
        advice = "" if one.is_harmless else "do it before the script is started, or in Python"
        yield Finding(codes.NOTEBOOK_ONLY, level, path, one.line, 1, message, advice)
    if outcome is Outcome.CONVERTED:
        message = "the output is a script: a notebook is one process, and starts no others"
        advice = "start the output with a launcher, such as torchrun"
        yield Finding(codes.NOTEBOOK_LAUNCH, Level.NOTE, path, 0, 0, message, advice)


def _in_cells(
    findings: Iterable[Finding], path: str, script: Input, notebook: Notebook
) -> tuple[Finding, ...]:
    """Findings with the cell in their message; a notebook has no lines of its own."""
    found = []
    for finding in sorted(findings, key=lambda one: one.sort_key):
        if finding.path == path:
            cell = notebook.place(finding.line)
            message = f"{cell}: {finding.message}" if cell else finding.message
            finding = replace(
                finding, path=script.name, line=0, column=0, message=message, fix=None
            )
        found.append(finding)
    return tuple(found)
