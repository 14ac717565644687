"""The command ``disttranspile lsp``."""

from __future__ import annotations

from importlib.util import find_spec

import click

from transpile.options import Options


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

    serve(description, options_for)
    return 0


def options_for(path: str) -> Options:
    """The options that the configuration says for a script; the defaults where it is wrong."""
    from transpile.cli.choices import options_of
    from transpile.cli.commands.convert import command as convert
    from transpile.cli.project.settings import ProjectSettings, default_map

    try:
        settings = ProjectSettings().of(path)
        context = convert.make_context(
            "disttranspile", [path], default_map=default_map(settings), resilient_parsing=False
        )
        chosen = options_of(context.params)
    except (click.ClickException, ValueError):
        return Options()
    from dataclasses import replace

    roles = tuple(sorted(settings.roles.items()))
    return replace(chosen, roles=roles, apart=tuple(sorted(settings.apart)))
