"""What is said of names that nothing has: commands, files and codes that were misspelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from on_fake_engine import Command


@pytest.mark.parametrize(
    ("word", "near"), [("audti", "audit"), ("verfy", "verify"), ("lanuch", "launch")]
)
def test_a_command_that_is_misspelled(command: Command, word: str, near: str) -> None:
    run = command(word, "train.py")
    assert run.status == 2
    assert f"There is no command or file '{word}'; did you mean {near}?" in run.errors


def test_a_file_of_such_a_name_is_meant(command: Command) -> None:
    Path("audti").write_text("print()\n")
    assert "no command" not in command("audti").errors


def test_a_file_that_is_misspelled(command: Command) -> None:
    Path("jobs").mkdir()
    Path("jobs/plain.py").touch()
    run = command("jobs/plian.py")
    assert run.status == 2
    assert "No such file or directory; did you mean jobs/plain.py?" in " ".join(run.errors.split())
    assert "did you mean" not in command("jobs/other.py").errors


def test_the_configuration_of_a_missing_file_says_so(command: Command) -> None:
    assert b"gone.py (there is no such file):" in command("config", "gone.py").output
