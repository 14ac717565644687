"""The standard streams: bytes out, remarks on the side, colour where a person looks."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

# So many scripts, and so many seconds, are long enough for a person to wonder.
_LONG = 8
_WORTH_A_LINE = 1.0
_TICK = 1.0
# The beginning of a line that holds nothing any more.
_LINE = "\r\x1b[K"


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


class Waiting:
    """What is going on and for how long, on one line of a terminal that goes away again.

    Args:
        patience: how many seconds pass before it is worth a line.
    """

    def __init__(self, patience: float = 0) -> None:
        self._patience = patience
        self._end: Callable[[], None] | None = None

    def begin(self, label: str, details: Callable[[], str] = str) -> None:
        """Show that something begins.

        Args:
            label: what it is.
            details: asked every second for what else is known.
        """
        self.clear()
        if not is_looked_at():
            return
        from threading import Event, Thread

        over, shown, started = Event(), Event(), time.monotonic()

        def show() -> None:
            pause = self._patience
            while not over.wait(pause):
                seconds = time.monotonic() - started
                parts = (label, details(), f"{seconds:.0f} s" if seconds >= 1 else "")
                tell(_LINE + ", ".join(filter(None, parts)))
                shown.set()
                pause = _TICK

        thread = Thread(target=show, daemon=True)
        thread.start()

        def end() -> None:
            over.set()
            thread.join()
            if shown.is_set():
                tell(_LINE)

        self._end = end

    def clear(self) -> None:
        """Make room for what is to be said."""
        if self._end is not None:
            self._end()
            self._end = None


class Progress:
    """How far a long run has come, on one line of a terminal that goes away again.

    Args:
        total: how many scripts there are.
        label: what is done with one.
    """

    def __init__(self, total: int, label: str) -> None:
        self._total = total if is_looked_at() else 0
        self._done = 0
        self._is_shown = False
        self._started = time.monotonic()
        # Where there are more, processes are forked, which threads do not go well with.
        self._waiting = Waiting(_WORTH_A_LINE) if total == 1 else None
        if self._waiting is not None:
            self._waiting.begin(label)
        elif self._total >= _LONG:
            self._show()

    def step(self) -> None:
        """Show that one script more is done."""
        self._done += 1
        if self._done >= self._total:
            self.clear()
        elif self._total >= _LONG or time.monotonic() - self._started > _WORTH_A_LINE:
            self._show()

    def clear(self) -> None:
        """Make room for what is to be said."""
        if self._waiting is not None:
            self._waiting.clear()
        if self._is_shown:
            tell(_LINE)
            self._is_shown = False

    def _show(self) -> None:
        tell(f"{_LINE}{self._done} of {self._total} scripts")
        self._is_shown = True
