"""Making the changes that findings advise, where they are mechanical."""

from __future__ import annotations

from collections.abc import Iterable

import click

from transpile.finding import Finding, Fix


def fix_all(findings: Iterable[Finding]) -> str:
    """Make the changes of findings in their files, and return what there is to say of it.

    Of two changes that reach into each other, the first is made; a second run makes the other. A
    file that would not be Python behind them stays as it is.

    Raises:
        click.UsageError: a file cannot be read or written.
    """
    by_file: dict[str, set[Fix]] = {}
    for finding in findings:
        if finding.fix is not None:
            by_file.setdefault(finding.path, set()).add(finding.fix)
    made = {path: _fix(path, fixes) for path, fixes in sorted(by_file.items())}
    count, files = sum(made.values()), sum(map(bool, made.values()))
    if not count:
        return ""
    words = ["change" if count == 1 else "changes", "file" if files == 1 else "files"]
    return f"{count} {words[0]} made in {files} {words[1]}\n"


def _fix(path: str, fixes: Iterable[Fix]) -> int:
    """Make the changes of one file, the last first, and return how many were made."""
    import ast

    from transpile.output.together import write_atomically
    from transpile.reading import read_regular
    from transpile.text.decoding import SourceError, decode

    try:
        decoded = decode(read_regular(path))
        text, count = decoded.text, 0
        chosen = _apart(fixes)
        for fix in reversed(chosen):
            text = fix.apply(text)
            count += 1
        ast.parse(text)
        write_atomically(path, decoded.encode(text))
    except (SyntaxError, ValueError, SourceError):
        return 0
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be fixed: {error.strerror or error}.") from error
    return count


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """The changes in the order of their places, without those that reach into one before."""
    chosen: list[Fix] = []
    for fix in sorted(fixes, key=lambda one: (one.line, one.column, one.end_line, one.end_column)):
        if chosen and (fix.line, fix.column) < (chosen[-1].end_line, chosen[-1].end_column):
            continue
        chosen.append(fix)
    return chosen
