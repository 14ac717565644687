"""Findings as editors show them: ranges, severities, explanations, the conversion as an edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit, urlunsplit

from lsprotocol import types

from transpile.finding import Finding, Level
from transpile.report import Description

SOURCE = "disttranspile"
#: A script that is not distributed yet is not wrong: what keeps it from being so is a warning.
OF_CONVERSION = {
    Level.ERROR: types.DiagnosticSeverity.Warning,
    Level.WARNING: types.DiagnosticSeverity.Information,
    Level.NOTE: types.DiagnosticSeverity.Hint,
}
OF_AUDIT = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.NOTE: types.DiagnosticSeverity.Information,
}


def diagnostics(
    findings: Iterable[Finding], path: str, lines: Sequence[str], *, audited: bool
) -> list[types.Diagnostic]:
    """The findings about one file.

    Args:
        findings: about the file and others.
        path: which file.
        lines: those of its text, without their ends.
        audited: they come from the audit.
    """
    severities = OF_AUDIT if audited else OF_CONVERSION
    return [
        types.Diagnostic(
            range=word_at(lines, finding.line, finding.column),
            message=f"{finding.message}\n{finding.advice}".rstrip(),
            severity=severities[finding.level],
            code=finding.code,
            source=SOURCE,
        )
        for finding in findings
        if finding.path == path
    ]


def word_at(lines: Sequence[str], line: int, column: int) -> types.Range:
    """The dotted name at a place, or the rest of the line; all of the first line for no place.

    Args:
        lines: those of the text.
        line: counted from 1; 0 for the whole file.
        column: in characters, counted from 1.
    """
    row = min(max(line, 1), max(len(lines), 1)) - 1
    text = lines[row] if lines else ""
    start = min(max(column, 1) - 1, len(text))
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] in "_."):
        end += 1
    if end == start:
        end = len(text)
    return types.Range(
        types.Position(row, in_units(text[:start])), types.Position(row, in_units(text[:end]))
    )


def in_units(text: str) -> int:
    """How long a text is as the protocol counts: in units of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def hover(description: Description, code: str) -> types.Hover:
    """What there is to read about a code."""
    text = f"**{code}** {description.title}\n\n```text\n{description.text}\n```"
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))


def fixes(
    uri: str, findings: Iterable[Finding], lines: Sequence[str], where: types.Range
) -> list[types.CodeAction]:
    """The changes that do what findings advise, of those in some lines of a text."""
    found = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not where.start.line <= finding.line - 1 <= where.end.line:
            continue
        places = ((fix.line, fix.column), (fix.end_line, fix.end_column))
        start, end = (_position(lines, line, column) for line, column in places)
        edit = types.TextEdit(types.Range(start, end), fix.text)
        found.append(
            types.CodeAction(
                f"{fix.what} ({finding.code})",
                kind=types.CodeActionKind.QuickFix,
                edit=types.WorkspaceEdit(changes={uri: [edit]}),
            )
        )
    return found


def _position(lines: Sequence[str], line: int, column: int) -> types.Position:
    text = lines[line - 1] if line <= len(lines) else ""
    return types.Position(line - 1, in_units(text[: column - 1]))


def conversion(uri: str, text: str) -> types.WorkspaceEdit:
    """The edit that writes the converted script beside a script; it overwrites nothing."""
    target = beside(uri)
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    return types.WorkspaceEdit(
        document_changes=[
            types.CreateFile(target, options=types.CreateFileOptions(overwrite=False)),
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(target, None),
                [types.TextEdit(start, text)],
            ),
        ]
    )


def beside(uri: str) -> str:
    """The address of ``train_dist.py`` for that of ``train.py``."""
    parts = urlsplit(uri)
    path = PurePosixPath(parts.path)
    return urlunsplit(parts._replace(path=str(path.with_name(f"{path.stem}_dist.py"))))
