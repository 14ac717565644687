"""Running launch scripts with a torchrun that only says how it was called."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from transpile.launch import targets
from transpile.launch.job import Job

COMMAND = ("disttranspile", "launch", "train_dist.py", "--target", "torchrun")
SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
_FAKE = f"""#!{sys.executable} -SIE
import json, os, sys
words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
with open(os.environ["RECORD"], "w") as stream:
    json.dump([words, dict(os.environ)], stream)
"""


@dataclass(frozen=True)
class Call:
    """How torchrun was called; `words` is None where it was not."""

    status: int
    errors: str
    words: list[str] | None
    environment: dict[str, str]


def torchrun_script(job: Job) -> str:
    """The one file of the target torchrun."""
    (text,) = targets()["torchrun"](job).values()
    return text


class FakeTorchrun:
    """A folder whose torchrun, nvidia-smi and nproc are not the real ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        self._record = folder / "record.json"
        self.program("torchrun", _FAKE)
        self.program("nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.program("nproc", "#!/bin/sh\necho 12\n")

    def program(self, name: str, text: str) -> None:
        """Put a program where the launch script finds it first."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, script: Path | str, *arguments: str, shell: str = "sh", **extra: str) -> Call:
        """Run a launch script."""
        self._record.unlink(missing_ok=True)
        environment = {
            "PATH": f"{self.programs}{os.pathsep}/usr/bin:/bin",
            "RECORD": str(self._record),
            **extra,
        }
        words = [shell, *(["sh"] if shell == "busybox" else []), str(script), *arguments]
        done = subprocess.run(
            [os.fsencode(word) for word in words],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            timeout=60,
        )
        called: list[str] | None = None
        seen: dict[str, str] = {}
        if self._record.exists():
            called, seen = json.loads(self._record.read_text())
        return Call(done.returncode, done.stderr.decode("utf-8", "replace"), called, seen)

    def run_job(self, job: Job, *arguments: str, shell: str = "sh", **extra: str) -> Call:
        """Write the launch script of a job and run it."""
        path = self.folder / "launch.sh"
        path.write_bytes(torchrun_script(job).encode("utf-8", "surrogateescape"))
        return self.run("launch.sh", *arguments, shell=shell, **extra)
