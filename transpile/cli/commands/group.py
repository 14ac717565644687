"""All commands as one of click: each is loaded when it is named, and one goes without its name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from transpile import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# A command is a module beside this one with a click command named `command`.
COMMANDS = ("audit", "config", "convert", "explain", "launch", "lsp", "rules", "sync", "verify")
IMPLICIT = "convert"
PROGRAM = "disttranspile"
_VERSION = "--version"


class Commands(click.Group):
    """The commands, and the one that goes without its name.

    Words that begin with none of the names are for that one, whatever they are: here, no option is
    looked for among them but a lone ``--version``, for which no command has to be loaded.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The words that name a command."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a word."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"transpile.cli.commands.{cmd_name}").command
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the words to the command that they are for."""
        if args == [_VERSION]:
            return super().parse_args(ctx, args)
        ctx.args = list(args)
        return ctx.args

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named, or the one that goes without."""
        if args and args[0] in COMMANDS:
            return args[0], self.get_command(ctx, args[0]), args[1:]
        if args and args[0].isalpha() and not os.path.lexists(args[0]):
            from transpile.cli.astray_words import meant

            near = meant(args[0], COMMANDS)
            if near:
                known = f"There is no command or file {args[0]!r}"
                raise click.UsageError(f"{known}; did you mean {near}?", ctx)
        return IMPLICIT, self.get_command(ctx, IMPLICIT), args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the one that goes without its name is called as the program is."""
        _, command, words = self.resolve_command(ctx, ctx.args)
        assert command is not None
        if words is ctx.args:
            context = command.make_context(ctx.info_name, words)
        else:
            context = command.make_context(ctx.args[0], words, parent=ctx)
        with context:
            return command.invoke(context)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What the first word may be: a command, an option of the implicit one, or a file."""
        from transpile.cli.project.options import complete_files

        command = self.get_command(ctx, IMPLICIT)
        assert command is not None
        inner = click.Context(command, parent=ctx, info_name=IMPLICIT)
        inner.args = []
        named = [] if incomplete.startswith("-") else super().shell_complete(ctx, incomplete)
        # In bash, what asks for files puts away what was found before it.
        first = complete_files(ctx, None, incomplete)
        return [*first, *command.shell_complete(inner, incomplete), *named]


group = click.version_option(__version__, prog_name=PROGRAM)(
    Commands(PROGRAM, add_help_option=False)
)
