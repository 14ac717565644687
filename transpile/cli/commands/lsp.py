"""The command ``disttranspile lsp``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from transpile.records import replace

if TYPE_CHECKING:
    from transpile.editor.look import Choice


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> int:
    """Answer an editor as a language server, over standard input and output.

    It shows findings as they would be told for the configuration of each script, explains their
    codes, and offers to write the converted script. It needs the extra `lsp`:
    pip install 'disttranspile[lsp]'.
    """
    if find_spec("pygls") is None:
        raise click.UsageError("pygls is missing: pip install 'disttranspile[lsp]'.")
    from transpile.cli.project.manual import description
    from transpile.editor.server import serve

    serve(description, choice_for)
    return 0


def choice_for(path: str) -> Choice:
    """What the configuration says for a script; the defaults where it is wrong."""
    from transpile.cli.choices import options_of
    from transpile.cli.commands.convert import command as convert
    from transpile.cli.project.accepted import accepted_of
    from transpile.cli.project.settings import ProjectSettings, default_map
    from transpile.editor.look import Choice, Findings
    from transpile.report import FileReport
    from transpile.result import Outcome

    try:
        settings = ProjectSettings().of(path)
        context = convert.make_context(
            "disttranspile", [path], default_map=default_map(settings), resilient_parsing=False
        )
        chosen = options_of(context.params)
        accepted = accepted_of(context.params, settings)
    except (click.ClickException, ValueError):
        return Choice()

    def keep(findings: Findings, text: str, path: str) -> Findings:
        report = FileReport(path, Outcome.AUDITED, findings)
        contents = {path: text.encode("utf-8", "surrogatepass")}
        return accepted.sort(report, settings, contents, errors=True, complete=()).findings

    roles = tuple(sorted(settings.roles.items()))
    return Choice(replace(chosen, roles=roles, apart=tuple(sorted(settings.apart))), keep)
