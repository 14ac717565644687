"""Runs scripts on pretended GPUs."""

from __future__ import annotations

from pathlib import Path

from transpile.verify.evidence import RunEvidence
from transpile.verify.launcher import Launcher


def ran(
    launcher: Launcher, folder: Path, text: str, world_size: int = 2, seconds: float = 60
) -> RunEvidence:
    """What becomes of a script."""
    for name in ("run", "evidence"):
        (folder / name).mkdir()
    script = folder / "run" / "train.py"
    script.write_text(text)
    return launcher.run(
        script,
        (),
        world_size=world_size,
        working_directory=script.parent,
        evidence=folder / "evidence",
        folders={script.parent: ""},
        timeout_seconds=seconds,
    )


def said(run: RunEvidence) -> str:
    return "\n".join(rank.errors for rank in run.ranks)
