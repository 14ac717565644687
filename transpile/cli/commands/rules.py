"""The command ``disttranspile rules``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import click

from transpile.cli.project.manual import Entry, entries
from transpile.cli.terminal import put

_FORMATS = ("text", "json", "markdown")
_OWN = "the tool itself"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="Form."
)
@click.option("--select", multiple=True, metavar="CODE,...", help="List these codes alone.")
def command(form: str, select: tuple[str, ...]) -> int:
    """List every rule, every check of the audit, and the codes of their findings."""
    from transpile.acceptance.codes import named
    from transpile.cli.project.settings import check_codes

    chosen = [code.strip() for value in select for code in value.split(",") if code.strip()]
    check_codes(chosen)
    known = [entry for entry in entries() if not chosen or named(entry.code, chosen)]
    text = {"text": _text, "json": _json, "markdown": _markdown}[form](known)
    put(text.encode())
    return 0


def _rules(known: Iterable[Entry]) -> list[tuple[Entry, list[Entry]]]:
    """Each rule by its first code, with all of its codes."""

    def key(entry: Entry) -> tuple[str, str, str]:
        return (entry.framework or _OWN, entry.kind, entry.rule or entry.code)

    found = []
    for _, group in groupby(sorted(known, key=key), key=key):
        own = sorted(group, key=lambda entry: entry.code)
        found.append((own[0], own))
    return found


def _text(known: Sequence[Entry]) -> str:
    lines = []
    for framework, group in groupby(_rules(known), key=lambda pair: pair[0].framework or _OWN):
        lines.append(f"{framework}\n")
        for first, own in group:
            lines.append(f"  {first.rule or first.code}: {_summary(first)}\n")
            lines += [f"    {entry.code}  {entry.title}\n" for entry in own if first.rule]
    return "".join(lines)


def _json(known: Sequence[Entry]) -> str:
    import json

    rules: list[dict[str, Any]] = [
        {
            "rule": first.rule or None,
            "framework": first.framework or None,
            "kind": first.kind,
            "summary": _summary(first),
            "codes": {entry.code: entry.title for entry in own},
            "explanation": first.text,
        }
        for first, own in _rules(known)
    ]
    return json.dumps({"format": 1, "rules": rules}, indent=2) + "\n"


def _markdown(known: Sequence[Entry]) -> str:
    from transpile.report.escape import markdown

    lines = ["| Framework | Rule | Code | Finding |\n", "|---|---|---|---|\n"]
    for first, own in _rules(known):
        for entry in own:
            cells = (first.framework or _OWN, entry.rule, entry.code, entry.title)
            lines.append(f"| {' | '.join(map(markdown, cells))} |\n")
    return "".join(lines)


def _summary(entry: Entry) -> str:
    return entry.text.split("\n\n")[0].replace("\n", " ").strip() if entry.rule else entry.title
