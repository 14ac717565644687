"""The environments of what the tests run beside PyTorch: other frameworks, and launchers."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Environment:
    """An environment of one framework.

    Args:
        name: what the test command calls it; also the folder of its tests.
        python: major and minor version of the interpreter that the framework's wheels need.
        requirements: what pip installs.
        on_request: it is so large that it is made only where it is named.
        tests_below: its tests below ``tests/``, where they have no folder of their own.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    on_request: bool = False
    tests_below: str = ""

    @property
    def folder(self) -> Path:
        """Where the environment is."""
        return ROOT / f".venv-{self.name}"

    @property
    def interpreter(self) -> Path:
        """The interpreter inside it."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"

    @property
    def stamp(self) -> Path:
        """The file that says for which requirements the environment was completed."""
        return self.folder / "complete"

    @property
    def wanted(self) -> str:
        """What the stamp says once the environment is complete."""
        return "\n".join((str(self.folder), self.python, *self.requirements))

    @property
    def is_complete(self) -> bool:
        """Whether scripts can be run in it."""
        return self.stamp.is_file() and self.stamp.read_text("utf-8") == self.wanted

    @property
    def tests(self) -> Path:
        """Where its tests are."""
        return ROOT / "tests" / (self.tests_below or f"frameworks/{self.name}")


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("mxnet", "3.11", ("mxnet==1.9.1", "numpy==1.23.5")),
        Environment("paddle", "3.11", ("paddlepaddle==3.3.1",)),
        Environment(
            "paddle_servers",
            "3.10",
            ("paddlepaddle==2.6.2", "numpy==1.26.4", "protobuf==3.20.3", "setuptools==65.5.0"),
        ),
        Environment("tensorflow", "3.11", ("tensorflow-cpu==2.21.0", "tf_keras==2.21.0")),
        Environment("ray", "3.11", ("ray[default]==2.60.0",), tests_below="launch/test_ray.py"),
        Environment("sky", "3.11", ("skypilot==0.14.1",), tests_below="launch/test_sky.py"),
        Environment("fluid", "3.7", ("paddlepaddle==1.8.5", "protobuf==3.20.3")),
        Environment(
            "fluid_nccl2",
            "3.7",
            ("paddlepaddle-gpu==1.8.5.post107", "protobuf==3.20.3"),
            on_request=True,
        ),
    )
}


def find_python(version: str) -> Path | None:
    """An interpreter of a version, on the path or among those of pyenv; None where there is none.

    Args:
        version: major and minor number, as in ``3.7``.
    """
    homes = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    kept = [
        found
        for home in homes
        if home
        for found in sorted(Path(home).glob(f"versions/{version}.*/bin/python"), reverse=True)
    ]
    on_path = shutil.which(f"python{version}")
    for candidate in [*([Path(on_path)] if on_path else []), *kept]:
        said = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if said.returncode == 0 and said.stdout.strip() == version:
            return candidate
    return None
