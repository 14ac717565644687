"""Keys about how a whole run goes, and what the command line makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRAINING = (
    Path(__file__).parents[2] / "fixtures" / "pytorch" / "main_sgd" / "train.py"
).read_bytes()


def write(path: str, text: str | bytes) -> None:
    found = Path(path)
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(text.encode() if isinstance(text, str) else text)


class TestWholeRuns:
    """Keys about how a run goes: the command line wins over each."""

    def test_the_form_of_findings(self, command: Callable[..., Any]) -> None:
        write("train.py", TRAINING)
        write("disttranspile.toml", 'output-format = "json"\n')
        assert json.loads(command("train.py", "--check").output)["files"]
        assert command("train.py", "--check", "--output-format", "text").output == b""
        assert json.loads(command("audit", "train.py").output)["files"]
        told = command("audit", "train.py", "--output-format", "text").output
        assert told.endswith(b"1 audited (1 note)\n")

    def test_quiet(self, command: Callable[..., Any]) -> None:
        write("idle.py", "print(1)\n")
        write("disttranspile.toml", "quiet = true\n")
        assert command("idle.py", "--check").errors == ""
        assert command("audit", "idle.py").output == b""
        assert "unchanged" in command("idle.py", "--check", "--no-quiet").errors
        assert command("audit", "idle.py", "--no-quiet").output != b""

    def test_annotate(self, command: Callable[..., Any]) -> None:
        write("train.py", TRAINING)
        write("disttranspile.toml", "annotate = true\n")
        plain = command("train.py", "--diff", "--isolated").output
        noted = command("train.py", "--diff", "--isolated", "--annotate").output
        assert noted != plain
        assert command("train.py", "--diff").output == noted
        assert command("train.py", "--diff", "--no-annotate").output == plain
        assert command("train.py", "--check").status == 1

    def test_what_is_left_out(self, command: Callable[..., Any]) -> None:
        write("train.py", TRAINING)
        write("lab/train.py", TRAINING)
        write("lab/.gitignore", "train.py\n")
        write("disttranspile.toml", 'force-exclude = true\nexclude = ["/train.py"]\n')
        write("lab/disttranspile.toml", "respect-gitignore = false\n")
        assert command("train.py", "--check").status == 0
        assert command("train.py", "--check", "--no-force-exclude").status == 1
        assert command("audit", "train.py").output.startswith(b"no script found")
        assert command("lab", "--check").status == 1
        assert command("lab", "--check", "--respect-gitignore").status == 0

    def test_jobs(self, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        from transpile.cli import conversion
        from transpile.cli.commands import audit

        asked = []

        def each(function: Any, items: Any, *, jobs: Any = None, together: bool = True) -> Any:
            asked.append(jobs)
            return map(function, items)

        monkeypatch.setattr(conversion, "each_of", each)
        monkeypatch.setattr(audit, "each_of", each)
        write("train.py", TRAINING)
        write("disttranspile.toml", "jobs = 3\n")
        command("train.py", "--check")
        command("train.py", "--check", "-j", "5")
        command("audit", "train.py", "--no-cache")
        assert asked == [3, 5, 3]

    def test_the_folder_that_is_asked_for_counts(self, command: Callable[..., Any]) -> None:
        write("lab/idle.py", "print(1)\n")
        write("lab/disttranspile.toml", "quiet = true\n")
        assert command("lab", "--check").errors == ""
        assert command("lab/", "--check").errors == ""

    def test_what_a_script_trains_with_is_for_the_audit_too(
        self, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transpile.cli.commands import audit

        chosen = []
        real = getattr(audit, "audited")  # noqa: B009

        def audited(kept: Any, script: Any, content: Any, options: Any) -> Any:
            chosen.append(options.framework)
            return real(kept, script, content, options)

        monkeypatch.setattr(audit, "audited", audited)
        write("train.py", TRAINING)
        write("disttranspile.toml", '[[script]]\nsource = "train.py"\nframework = "pytorch"\n')
        command("audit", "train.py", "--no-cache")
        command("audit", "train.py", "--no-cache", "--framework", "auto")
        assert chosen == ["pytorch", "auto"]

    def test_they_are_shown_with_their_places(self, command: Callable[..., Any]) -> None:
        write("train.py", TRAINING)
        write(
            "pyproject.toml",
            '[tool.disttranspile]\nquiet = true\nexclude = ["old/", "x.py"]\ntimeout = 4\n'
            '[[tool.disttranspile.script]]\nsource = "*"\ntimeout = 5\n',
        )
        whole = command("config").output.decode()
        rows = [line.split() for line in command("config", "train.py").output.decode().splitlines()]
        assert ["quiet", "true", "[tool.disttranspile]"] in rows
        assert ["exclude", "old/,", "x.py", "[tool.disttranspile]"] in rows
        assert ["respect-gitignore", "true", "default"] in rows
        assert ["timeout", "5", "[[tool.disttranspile.script]]", "no.", "1"] in rows
        rows = [line.split() for line in whole.splitlines()]
        assert ["quiet", "true", "[tool.disttranspile]"] in rows
        assert ["exclude", "old/,", "x.py", "[tool.disttranspile]"] in rows


def test_numbers_are_told_beside_what_a_run_does(command: Callable[..., Any]) -> None:
    write("train.py", TRAINING)
    plain = command("train.py").output
    alone = command("train.py", "--explain-numbers", "4").output
    assert b"4 processes" in alone
    write("disttranspile.toml", "explain-numbers = 4\n")
    run = command("train.py")
    assert run.output == plain
    assert "4 processes" in run.errors
    assert b"4 processes" in command("train.py", "--check").output
    assert command("train.py", "--explain-numbers", "2").output.count(b"2 processes") == 1


def test_flags_are_taken_back_on_the_command_line(command: Callable[..., Any]) -> None:
    write("train.py", TRAINING)
    write("disttranspile.toml", "script-args = true\nallow-partial = true\n")
    assert b"--init-method" in command("train.py").output
    assert b"--init-method" not in command("train.py", "--no-script-args").output
    write("disttranspile.toml", "distributed-embedding = true\n")
    assert "--distributed-embedding does not fit" in command("train.py").errors
    assert command("train.py", "--no-distributed-embedding", "--no-allow-partial").status == 0
