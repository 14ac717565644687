"""The standard streams: bytes out, remarks on the side, colour where a person looks."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


class StandardOutputError(Exception):
    """Standard output is closed or its device is full."""


def put(data: bytes) -> None:
    """Write `data` to standard output as it is.

    Raises:
        BrokenPipeError: the reader has gone.
        StandardOutputError: it cannot be written to for another reason.
    """
    if sys.stdout is None:
        raise StandardOutputError("closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(error.strerror or str(error)) from error


def tell(text: str) -> None:
    """Write `text` to standard error; where nobody listens, nothing happens."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()


def discard_output() -> None:
    """Let what is still buffered for standard output go nowhere, quietly, when the process ends."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def wants_colour(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal whose user has not asked for plain text."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
