"""What runs have left that were killed while they wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable

from transpile.cli.inputs import Input
from transpile.cli.terminal import tell
from transpile.output.traces import journals_around, journals_below


class InterruptedRun(Exception):
    """A script that cannot be read as it is because an earlier run was killed.

    Args:
        path: the journal of that run.
        message: what is the matter, in one line.
        advice: what to do about it.
    """

    def __init__(self, path: str, message: str, advice: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.advice = advice


def undo_interrupted(scripts: Iterable[Input]) -> None:
    """Put back what killed runs have left around and below some inputs, and say so.

    What cannot be put back is left to `check_whole`, which names it.
    """
    from transpile.output.recovery import recover

    for script in scripts:
        journals = journals_around([script.path])
        if os.path.isdir(script.path):
            journals += journals_around([os.path.join(script.path, "any")])
            journals += journals_below(script.path)
        for journal in dict.fromkeys(journals):
            try:
                files = recover(journal)
            except OSError:
                continue
            if files:
                names = ", ".join(sorted(map(os.path.relpath, files)))
                tell(f"disttranspile: undid a run that was killed while it wrote: {names}\n")


def check_whole(script: Input) -> None:
    """Make sure that a killed run has not left old files beside new ones around a script.

    Raises:
        InterruptedRun: it has, or it cannot be told.
    """
    if script.is_standard_input:
        return
    for journal in journals_around([script.path]):
        from transpile.output.lock import JournalError
        from transpile.output.recovery import is_mixed

        try:
            mixed = is_mixed(journal)
        except JournalError as error:
            raise InterruptedRun(journal, error.reason, error.advice) from error
        except OSError as error:
            raise InterruptedRun(
                journal, f"cannot be read: {error.strerror or error}", "Look at it, and delete it."
            ) from error
        if mixed:
            raise InterruptedRun(
                journal,
                "an earlier run was killed while it wrote, and left old files beside new ones",
                "Run the tool with --in-place, which puts them back first.",
            )
