"""What is seen of a run while it is on."""

from __future__ import annotations

from pathlib import Path

_STEP = b'{"event": "step"'


class RunningRun:
    """A run that has begun.

    Args:
        label: which one of a comparison it is.
        evidence: folder in which its ranks keep their journals.
    """

    def __init__(self, label: str, evidence: Path) -> None:
        self.label = label
        self._evidence = evidence
        self._journal: Path | None = None
        self._offset = 0
        self._steps = 0

    def progress(self) -> str:
        """How many optimizer steps the first rank has taken, in words; nothing before the first."""
        journals = self._evidence.glob("attempt-*/0/journal.jsonl")
        latest = max(journals, default=None)
        if latest != self._journal:
            self._journal, self._offset, self._steps = latest, 0, 0
        try:
            if latest is not None:
                self._read(latest)
        except OSError:
            # The run has ended, and its folder is gone.
            return ""
        return f"{self._steps} step{'s' * (self._steps != 1)}" if self._steps else ""

    def _read(self, journal: Path) -> None:
        with journal.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self._steps += line.startswith(_STEP)
