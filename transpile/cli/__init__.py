"""The command ``disttranspile``: its commands, and the one place where exceptions end."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

# A command is a module of `commands` with a click command named `command`.
COMMANDS = ("audit", "config", "convert", "explain", "launch", "lsp", "rules", "sync", "verify")
_IMPLICIT = "convert"
_COMPLETION = "_DISTTRANSPILE_COMPLETE"
_INTERRUPTED = 130
_USAGE = 2
_PIPE_CLOSED = 1


def start() -> NoReturn:
    """Run the command as this process, and end the process.

    Neither collecting cycles nor taking a whole syntax tree apart at the end is of use to a process
    that lives for half a second: both together would take a quarter of its time.
    """
    gc.disable()
    status = main()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    A first word that names a command is the command; otherwise it is ``convert``.

    Args:
        arguments: the words after the program's name; those of the process where None.

    Returns:
        The exit status.
    """
    from transpile.cli.terminal import StandardOutputError, discard_output, tell

    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        tell("disttranspile: interrupted\n")
        return _INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return _PIPE_CLOSED
    except StandardOutputError as error:
        discard_output()
        tell(f"disttranspile: standard output: {error}\n")
        return _USAGE


def _dispatch(words: list[str]) -> int:
    import click

    if _COMPLETION in os.environ:
        from transpile.cli.commands.completion import answer

        answer(COMMANDS, _IMPLICIT)
    named = bool(words) and words[0] in COMMANDS
    name = words.pop(0) if named else _IMPLICIT
    command: click.Command = import_module(f"transpile.cli.commands.{name}").command
    program = f"disttranspile {name}" if named else "disttranspile"
    try:
        status = command.main(words, prog_name=program, standalone_mode=False)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return status if isinstance(status, int) else 0
