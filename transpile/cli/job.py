"""What one run of the command is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from transpile.cli.inputs import STANDARD_STREAM, Input
from transpile.cli.kept import Kept
from transpile.configuration.settings import Settings
from transpile.options import Options
from transpile.records import dataclass

if TYPE_CHECKING:
    from transpile.cli.launching.launch_request import LaunchRequest
    from transpile.cli.project.accepted import Accepted


class Mode(Enum):
    """What is done with the converted text."""

    PRINT = "print"
    WRITE = "write"
    IN_PLACE = "in place"
    DIFF = "diff"
    CHECK = "check"
    PLAN = "plan"
    NUMBERS = "numbers"

    @property
    def is_preview(self) -> bool:
        """Whether it only tells what a conversion would change."""
        return self in (Mode.DIFF, Mode.CHECK)

    @property
    def writes(self) -> bool:
        """Whether converted text goes anywhere, so that no refusal may be passed over."""
        return self in (Mode.PRINT, Mode.WRITE, Mode.IN_PLACE)

    @property
    def takes_folders(self) -> bool:
        """Whether an input may be a folder, which is searched for scripts that train."""
        return self in (Mode.WRITE, Mode.IN_PLACE, Mode.DIFF, Mode.CHECK)

    @property
    def uses_standard_output(self) -> bool:
        """Whether code, a diff, a plan or numbers go to standard output."""
        return self in (Mode.PRINT, Mode.DIFF, Mode.PLAN, Mode.NUMBERS)


def _fits(framework: str) -> None:
    """Nothing was chosen that could not fit."""


@dataclass(frozen=True)
class Task:
    """One script, what becomes of it and how.

    Args:
        script: the script.
        target: the file that its conversion goes to, ``-`` where it goes to none.
        options: the choices of the conversion.
        check_framework: raises where a choice does not fit the framework that the script has.
        settings: what its project says of it.
        is_idle: it is known, without parsing it, that it trains with no framework.
    """

    script: Input
    target: str = STANDARD_STREAM
    options: Options = Options()
    check_framework: Callable[[str], None] = _fits
    settings: Settings = Settings()
    is_idle: bool = False


@dataclass(frozen=True)
class Job:
    """All that one run of the command is asked for.

    Args:
        tasks: the scripts and where they go.
        mode: what is done with the converted text.
        new_folder: the folder of the targets, made when the first of them is written; empty where
            it must be there.
        force: overwrite a target that holds something else.
        output_format: the form of the findings.
        accepted: what the project has accepted of what is found.
        quiet: notes and the summary are not told.
        annotate: each hunk of a diff has the codes of the rules that ask for it.
        jobs: the most processes; None for as many as there are cores.
        kept: what earlier runs have kept of scripts that were only looked at.
        launch: what starts each target, written beside it.
    """

    tasks: Sequence[Task]
    mode: Mode
    new_folder: str
    force: bool
    output_format: str
    accepted: Accepted
    quiet: bool = False
    annotate: bool = False
    jobs: int | None = None
    kept: Kept = Kept()
    launch: LaunchRequest | None = None
