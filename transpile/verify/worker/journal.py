"""A rank's record of what it does, written while it does it."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any


class Journal:
    """Appends one JSON object per line.

    Every event goes to the file at once: a rank that hangs and is killed has still told what it
    did. Processes forked from the rank (workers of data loaders) inherit the object and must not
    write into it.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._file = (directory / "journal.jsonl").open("w", encoding="utf-8", buffering=1)

    @property
    def own_process(self) -> bool:
        """Whether the caller is the rank itself, not a process forked from it."""
        return os.getpid() == self._owner

    @property
    def seconds(self) -> float:
        """How long the rank has been running."""
        return round(time.monotonic() - self._start, 4)

    def write(self, event: str, **fields: Any) -> None:
        """Record an event of that kind."""
        if not self.own_process:
            return
        line = json.dumps({"event": event, **fields}) + "\n"
        with self._lock:
            self._file.write(line)
