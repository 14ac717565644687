"""What the ecosystem check found, as plain data that is kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: What may become of a script, in the order of the table.
OUTCOMES = ("converted", "refused", "unchanged", "source error", "crash", "too slow")


@dataclass(frozen=True)
class Conversion:
    """What became of one script.

    Args:
        repository: name of the folder that was given.
        script: its path in there.
        outcome: one of `OUTCOMES`.
        seconds: processor time of the conversion.
        findings: level, code, place and message of each finding.
        refused_by: codes of the findings that refuse it.
        output: the converted text; empty where it was not converted.
        problems: what is wrong with the output, or how the tool failed.
    """

    repository: str
    script: str
    outcome: str
    seconds: float
    findings: tuple[str, ...] = ()
    refused_by: tuple[str, ...] = ()
    output: str = ""
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Repository and path."""
        return f"{self.repository}/{self.script}"

    @property
    def wrong(self) -> bool:
        """Whether the tool itself failed on it."""
        return bool(self.problems) or self.outcome in ("crash", "too slow")


@dataclass(frozen=True)
class Run:
    """What came of one command: original and output, run and compared.

    Args:
        name: script and arguments.
        verdict: ``passed``, ``failed``, ``not converted``, ``original fails`` or ``not run``.
        details: failed checks, or why it was not run.
        seconds: how long all its processes took.
    """

    name: str
    verdict: str
    details: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def wrong(self) -> bool:
        """Whether the output did not do what the original does."""
        return self.verdict == "failed"


@dataclass(frozen=True)
class Record:
    """One use of the check."""

    conversions: tuple[Conversion, ...]
    runs: tuple[Run, ...] = ()


def save(record: Record, path: Path) -> None:
    """Write a record.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text(json.dumps(asdict(record), indent=1, sort_keys=True) + "\n", "utf-8")


def load(path: Path) -> Record:
    """Read a record.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no record.
    """
    said = json.loads(path.read_text("utf-8"))
    try:
        return Record(
            tuple(Conversion(**tuples(fields)) for fields in said["conversions"]),
            tuple(Run(**tuples(fields)) for fields in said["runs"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: no record of the ecosystem check") from error


def tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with JSON's lists as tuples."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
