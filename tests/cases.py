"""The fixture cases: a script, how it is run, and what the tool is expected to make of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from transpile import Options, Result, convert
from transpile.report.text import render_findings

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


@dataclass(frozen=True)
class Case:
    """One fixture.

    Args:
        folder: where it is.
        arguments: the script's arguments.
        deterministic: several processes must end with the parameters of one.
        expect: converted, refused or unchanged.
        length_may_differ: chance decides how long it trains.
        place: where in the folder the script stands.
        options: choices of the conversion other than the default ones, by name.
    """

    folder: Path
    arguments: tuple[str, ...]
    deterministic: bool
    expect: str
    length_may_differ: bool = False
    place: str = "train.py"
    options: tuple[tuple[str, object], ...] = ()

    @property
    def name(self) -> str:
        """Framework and case."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def script(self) -> Path:
        """The script as its author left it."""
        return self.folder / self.place

    @property
    def project_output(self) -> Path:
        """The folder of a whole project as it must come out, where other modules change, too."""
        return self.folder / "train_dist"

    @property
    def expected_output(self) -> Path:
        """The script as it must come out; absent where it stays as it is."""
        if self.project_output.is_dir():
            return self.project_output / self.place
        return self.folder / "train_dist.py"

    @property
    def output_folder(self) -> Path:
        """The folder in which the output finds its modules."""
        return self.expected_output.parent

    def expected_module(self, place: str) -> Path:
        """A module of the project as it must come out."""
        return self.project_output / place

    @property
    def expected_findings(self) -> Path:
        """The findings, one a line."""
        return self.folder / "findings.txt"


def cases(framework: str = "*") -> list[Case]:
    """All cases of a framework, in the order of their names."""
    found = []
    for settings in sorted(FIXTURES.glob(f"{framework}/*/case.json")):
        said = json.loads(settings.read_text("utf-8"))
        found.append(
            Case(
                settings.parent,
                tuple(said["arguments"]),
                bool(said["deterministic"]),
                said["expect"],
                bool(said.get("length_may_differ", False)),
                said.get("script", "train.py"),
                tuple(said.get("options", {}).items()),
            )
        )
    return found


def converted(case: Case, **options: object) -> Result:
    """What the tool makes of a case."""
    return convert(
        case.script.read_bytes(),
        Options(**{**dict(case.options), **options}),  # type: ignore[arg-type]
        path="train.py",
        folder=case.script.parent,
    )


def findings_text(result: Result) -> str:
    """The findings as the fixture keeps them."""
    return render_findings(result.findings)
