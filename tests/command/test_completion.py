"""Completion in shells, as click's own scripts ask for it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transpile.cli.commands.group import COMMANDS

#: What bash calls, with the words before the cursor, and what it answers.
BASH = """\
source <(_DISTTRANSPILE_COMPLETE=bash_source disttranspile)
complete -p disttranspile
COMP_WORDS=({words})
COMP_CWORD={position}
_disttranspile_completion disttranspile
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "programs" / "disttranspile"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m transpile "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parents[2])}


def bash(environment: dict[str, str], *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in ("disttranspile", *words))
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH.format(words=quoted, position=len(words))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    first, *found = done.stdout.splitlines()
    assert "_disttranspile_completion" in first
    return found


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_values_and_files(environment: dict[str, str]) -> None:
    Path("train.py").touch()
    assert set(bash(environment, "")) >= {*COMMANDS}
    assert bash(environment, "ex")[0] == "explain"
    assert "--batch-size" in bash(environment, "--ba")
    assert bash(environment, "--batch-size", "") == ["global", "per-device"]
    assert bash(environment, "train.py", "--eval", "s") == ["shard"]
    assert bash(environment, "train.py", "--dif") == ["--diff"]
    assert "--world-sizes" in bash(environment, "verify", "a.py", "b.py", "--wo")
    assert "slurm" in bash(environment, "launch", "train.py", "--target", "")
    assert bash(environment, "audit", "--out") == ["--output-format"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("name", COMMANDS)
def test_bash_completes_the_options_of_each_command(environment: dict[str, str], name: str) -> None:
    assert "--help" in bash(environment, name, "--he")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_codes_and_rules(environment: dict[str, str]) -> None:
    assert bash(environment, "explain", "DT90")[:2] == ["DT901", "DT902"]
    assert bash(environment, "explain", "au10")[0] == "AU101"
    assert "wrap-model" in bash(environment, "explain", "wrap")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_their_scripts_and_answers(
    environment: dict[str, str], shell: str
) -> None:
    def ask(instruction: str, **settings: str) -> str:
        done = subprocess.run(
            ["disttranspile"],
            env={**environment, "_DISTTRANSPILE_COMPLETE": f"{shell}_{instruction}", **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "_disttranspile_completion" in ask("source")
    words = "disttranspile --batch-size "
    position = "2" if shell == "zsh" else ""
    assert "per-device" in ask("complete", COMP_WORDS=words, COMP_CWORD=position)
    assert "sync" in ask("complete", COMP_WORDS="disttranspile ", COMP_CWORD=position and "1")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_completes_what_is_typed(environment: dict[str, str]) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "PS1": "$ ", "TERM": "dumb"})

    def typed(text: str, expected: str) -> str:
        os.write(terminal, text.encode())
        said, end = "", time.monotonic() + 60
        while expected not in said and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                said += os.read(terminal, 65536).decode("utf-8", "replace")
        return said

    try:
        typed("autoload -Uz compinit; compinit -u -D; print rea'd'y\n", "\nready")
        source = 'eval "$(_DISTTRANSPILE_COMPLETE=zsh_source disttranspile)"; print so"ur"ced\n'
        typed(source, "\nsourced")
        assert "--steps " in typed("disttranspile verify a.py b.py --st\t", "--steps ")
        assert "explain " in typed("\x15disttranspile exp\t", "explain ")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
