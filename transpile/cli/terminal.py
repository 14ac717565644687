"""The standard streams: bytes out, remarks on the side, colour where a person looks."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

# So many scripts take long enough for a person to wonder.
_LONG = 8


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


def is_looked_at() -> bool:
    """Whether a person looks at standard error, at a terminal that can take a line back."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class RunProgress:
    """Which of several runs is on, on one line of a terminal that goes away again."""

    def __init__(self) -> None:
        self._is_shown = False

    def begin(self, label: str) -> None:
        """Show that a run begins."""
        if is_looked_at():
            tell(f"\r\x1b[Krunning: {label}")
            self._is_shown = True

    def clear(self) -> None:
        """Make room for what is to be said."""
        if self._is_shown:
            tell("\r\x1b[K")
            self._is_shown = False


class Progress:
    """How far a long run has come, on one line of a terminal that goes away again.

    Args:
        total: how many steps there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total if total >= _LONG and is_looked_at() else 0
        self._done = 0
        self._is_shown = False

    def step(self) -> None:
        """Show that one step more is done."""
        self._done += 1
        if self._done < self._total:
            tell(f"\r\x1b[K{self._done} of {self._total} scripts")
            self._is_shown = True
        else:
            self.clear()

    def clear(self) -> None:
        """Make room for what is to be said."""
        if self._is_shown:
            tell("\r\x1b[K")
            self._is_shown = False
