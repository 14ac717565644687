"""The command line of a conversion that may also write what launches its output."""

from __future__ import annotations

import click

#: Where the context keeps the arguments of the script, and all words of the command line.
SCRIPT_ARGUMENTS = "disttranspile.script_arguments"
WORDS = "disttranspile.words"


class LaunchingCommand(click.Command):
    """A command with the options of a launch, and the script's arguments, where one is asked for.

    Without one they would cost every conversion the time to make them. The words of the command
    line are kept: a script with a configuration has them read once more, with that behind them.
    """

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read the words, those of the script apart from those of the command."""
        context.meta[WORDS] = tuple(args)
        end = args.index("--") if "--" in args else len(args)
        launches = any(word.partition("=")[0] == "--launch" for word in args[:end])
        context.meta[SCRIPT_ARGUMENTS] = tuple(args[end + 1 :]) if launches else None
        try:
            return super().parse_args(context, args[:end] if launches else args)
        except click.NoSuchOption as error:
            from transpile.cli.launching.launch_options import NAMES

            if launches or error.option_name.lstrip("-").replace("-", "_") not in NAMES:
                raise
            raise click.UsageError(
                f"{error.option_name} describes a job to launch: it needs --launch.", context
            ) from error

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """The options, with those of a launch where one is asked for."""
        params = super().get_params(context)
        if context.meta.get(SCRIPT_ARGUMENTS) is None:
            return params
        from transpile.cli.launching.launch_options import options

        return [*params, *options()]
