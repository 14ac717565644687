"""Sets up an environment of its own and runs the whole test suite in it.

    python3 tests/run.py [arguments for pytest]

The environment, .venv-test beside this folder, is made on the first run and kept as long as the
requirements stay the same. Without arguments, the project's own checks run as well: ruff, black and
mypy. What needs another framework than PyTorch is for tests/run_frameworks.py.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv-test"
STAMP = ENVIRONMENT / "complete"
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
CHECKS = (["ruff", "check", "."], ["black", "--check", "."], ["mypy"])
OLDEST_PYTHON = (3, 10)


def main(arguments: list[str]) -> int:
    """Prepare the environment and run pytest, and the checks where nothing else is asked for."""
    if sys.version_info < OLDEST_PYTHON:
        print("Python 3.10 or later is needed", file=sys.stderr)
        return 2
    prepare()
    failed = [] if arguments else [check for check in CHECKS if run(check) != 0]
    status = run(["pytest", *(arguments or ["--ignore=tests/frameworks", *parallel()])])
    for check in failed:
        print(f"failed: {' '.join(check)}", file=sys.stderr)
    return status or int(bool(failed))


def prepare() -> None:
    """Make the environment, unless it is there and was made for these requirements."""
    wanted = fingerprint()
    if STAMP.is_file() and STAMP.read_text("utf-8") == wanted:
        return
    print(f"Setting up {ENVIRONMENT.name}; this downloads PyTorch ...", flush=True)
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    venv.create(ENVIRONMENT, with_pip=True)
    pip = [str(PROGRAMS / "python"), "-m", "pip", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--editable", ".[dev]"], cwd=ROOT, check=True)
    STAMP.write_text(wanted, "utf-8")


def fingerprint() -> str:
    """What the environment depends on: the interpreter, the folder and all requirements."""
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    requirements = re.findall(r'"[\w\[\]-]+[=>]=[^"]+"', settings)
    parts = (sys.version, str(ROOT), *requirements)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def run(words: list[str]) -> int:
    """Run a program of the environment in the project's folder; return its exit status."""
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"}
    environment.pop("PYTHONPATH", None)
    # The tests start the tool some hundred times: compiling it each time would take minutes.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    program = [str(PROGRAMS / words[0]), *words[1:]]
    return subprocess.run(program, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL).returncode


def parallel() -> list[str]:
    """Spread the tests over the cores."""
    return ["-n", str(min(os.cpu_count() or 1, 8)), "--dist", "worksteal"]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
