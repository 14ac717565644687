"""Completion in shells: the commands, their options and values, and files."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from transpile.cli.project.options import complete_files

#: Where click's shell scripts leave what they ask for.
VARIABLE = "_DISTTRANSPILE_COMPLETE"


def answer(commands: Sequence[str], implicit: str) -> None:
    """Answer the shell, and end the process.

    Args:
        commands: the words that name a command.
        implicit: the command where none is named.
    """
    group = _Commands(commands, implicit)
    group.main(prog_name="disttranspile", complete_var=VARIABLE)


class _Commands(click.Group):
    """All commands, one of which goes without its name.

    Args:
        words: the words that name a command.
        implicit: the one that goes without.
    """

    def __init__(self, words: Sequence[str], implicit: str) -> None:
        super().__init__(
            "disttranspile",
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        )
        self._words = words
        self._implicit = implicit

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The words that name a command."""
        return list(self._words)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a word."""
        if cmd_name not in self._words:
            return None
        found: click.Command = import_module(f"transpile.cli.commands.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named, or the one that goes without."""
        if args and args[0] in self._words:
            return args[0], self.get_command(ctx, args[0]), args[1:]
        return self._implicit, self.get_command(ctx, self._implicit), args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What the first word may be: a command, an option of the implicit one, or a file."""
        command = self.get_command(ctx, self._implicit)
        assert command is not None
        inner = click.Context(command, parent=ctx, info_name=self._implicit)
        inner.args = []
        named = [] if incomplete.startswith("-") else super().shell_complete(ctx, incomplete)
        # In bash, what asks for files puts away what was found before it.
        first = complete_files(ctx, None, incomplete)
        return [*first, *command.shell_complete(inner, incomplete), *named]
