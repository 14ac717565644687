"""The command ``disttranspile``: its commands, and the one place where exceptions end."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

_INTERRUPTED = 130
_USAGE = 2
_PIPE_CLOSED = 1


def start() -> NoReturn:
    """Run the command as this process, and end the process.

    Neither collecting cycles nor taking a whole syntax tree apart at the end is of use to a process
    that lives for half a second: both together would take a quarter of its time.
    """
    gc.disable()
    from transpile import records

    records.in_command = True
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
        return _run(words)
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


def _run(words: list[str]) -> int:
    import click

    from transpile.cli.commands.group import PROGRAM, group

    try:
        status = group.main(words, prog_name=PROGRAM, standalone_mode=False)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return status if isinstance(status, int) else 0
