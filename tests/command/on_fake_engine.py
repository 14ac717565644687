"""The command in processes of its own, on an engine that only pretends: see fake_engine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Where processes find the tool, and the fake engine.
PYTHON_PATH = os.pathsep.join(map(str, (Path(__file__).parents[2], Path(__file__).parent)))
#: How a finding is told.
FINDING = re.compile(r"^[^:]+:\d+:\d+: [A-Z]+\d+ .+ \[(note|warning|error)\]$")
PROGRAM = "import sys, fake_engine; fake_engine.install(); from transpile.cli import main; "


@dataclass(frozen=True)
class Run:
    status: int
    output: bytes
    errors: str


Command = Callable[..., Run]


def process(
    words: Sequence[str | bytes],
    *,
    code: str = "sys.exit(main())",
    stdin: bytes = b"",
    **settings: str,
) -> Run:
    """The command in a process of its own, on the fake engine."""
    environment = {**os.environ, "PYTHONPATH": PYTHON_PATH}
    environment |= settings
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code, *words],
        input=stdin,
        capture_output=True,
        env=environment,
        timeout=60,
    )
    return Run(done.returncode, done.stdout, done.stderr.decode())


def script(name: str, content: bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
