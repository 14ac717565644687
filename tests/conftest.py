"""What several test modules share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_runs import Command, Run
from framework_environments import ENVIRONMENTS

from transpile.cli import main
from transpile.verify import Auditor

# What one test has seen is no matter of the next, nor of whoever runs them.
os.environ["DISTTRANSPILE_NO_CACHE"] = "1"


@pytest.fixture(scope="session")
def auditor() -> Iterator[Auditor]:
    """One start of the framework serves all audits of the session."""
    with Auditor() as running:
        yield running


@pytest.fixture(scope="session")
def interpreter_of() -> Callable[[str], Path]:
    """A function from a framework's name to the interpreter that has it; skips where none has."""

    def find(framework: str) -> Path:
        environment = ENVIRONMENTS[framework]
        if not environment.is_complete:
            pytest.skip(f"no environment for {framework}: run tests/run_frameworks.py {framework}")
        return environment.interpreter

    return find


@pytest.fixture
def command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Command:
    """The command ``disttranspile``, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Run:
        status = main(words)
        output, errors = capfdbinary.readouterr()
        return Run(status, output, errors.decode("utf-8", "replace"))

    return run
