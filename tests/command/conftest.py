"""The command within this process, on an engine that only pretends."""

from __future__ import annotations

import sys
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import Command, Run

from transpile.cli import main


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """The command within this process, on the fake engine."""
    monkeypatch.setitem(sys.modules, "transpile.engine", sys.modules.get("transpile.engine"))
    fake_engine.install()
    fake_engine.received.clear()

    def run(*words: str) -> Run:
        status = main(words)
        output, errors = capfdbinary.readouterr()
        return Run(status, output, errors.decode())

    return run
