"""Many files: what is looked at, on how many cores, and what is not parsed at all."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import Run, script

from transpile.cli.parallel import each_of
from transpile.cli.project.ignored import Ignored
from transpile.cli.terminal import Progress, Waiting

Command = Callable[..., Run]


class TestGit:
    def test_what_git_ignores_is_left_out_of_folders(self, command: Command) -> None:
        Path(".git").mkdir()
        for name in ("a.py", "build/b.py", "deep/c.py", "deep/kept/d.py", "deep/e_copy.py"):
            script(name, fake_engine.TRAINING)
        Path(".gitignore").write_text("/build/\n*_copy.py\n")
        Path("deep/.gitignore").write_text("c.py\n")
        run = command(".", "--check")
        converted = [
            line for line in run.errors.splitlines() if line.endswith("would be converted")
        ]
        assert converted == [
            "./a.py: would be converted",
            "./deep/kept/d.py: would be converted",
        ]
        assert "2 would be converted" in run.errors
        assert "5 would be converted" in command(".", "--check", "--no-gitignore").errors
        assert command("deep/c.py", "--check").status == 1
        assert "1 would be converted" in command("build", "--check").errors

    def test_the_nearest_file_of_the_repository_decides(self) -> None:
        script("repository/.git/HEAD", b"")
        script(".gitignore", b"*.py\n")
        script("repository/.gitignore", b"a.py\nout/\n")
        script("repository/sub/.gitignore", b"!a.py\nb.py\n")
        ignored = Ignored("repository/sub")
        assert not ignored.names("repository/sub/a.py")
        assert ignored.names("repository/sub/b.py")
        assert not ignored.names("repository/sub/c.py")
        assert ignored.names("repository/sub/out", is_folder=True)
        assert not ignored.names("repository/sub/out")
        script("repository/sub/.gitignore", b"!\n[z-a]\nb.py\n")
        assert Ignored("repository/sub").names("repository/sub/b.py")


class TestHooks:
    def test_many_named_files_without_a_framework_are_not_parsed(self, command: Command) -> None:
        names = [f"idle{number}.py" for number in range(6)]
        for name in names:
            script(name, fake_engine.IDLE)
        script("train.py", fake_engine.TRAINING)
        run = command(*names, "train.py", "--check")
        assert run.status == 1
        assert len(fake_engine.received) == 1
        assert run.errors.endswith("1 would be converted, 6 unchanged (1 note)\n")
        fake_engine.received.clear()
        command(*names, "--check", "--framework", "pytorch")
        assert len(fake_engine.received) == 6

    def test_a_table_at_the_end_says_what_became_of_each(self, command: Command) -> None:
        for number in range(4):
            script(f"{number}.py", fake_engine.TRAINING + b"# torch\n")
        assert "errors  warnings  notes" not in command(".", "--check").errors
        script("wrong.py", fake_engine.REFUSED + b"# torch\n")
        told = command(".", "--check").errors.split("\n\n")
        assert told[1].splitlines()[0].split() == ["errors", "warnings", "notes"]
        assert [line.split() for line in told[1].splitlines()[-2:]] == [
            ["./3.py", "would", "be", "converted", "1"],
            ["./wrong.py", "refused", "1", "1"],
        ]
        assert told[2].startswith("4 would be converted, 1 refused")
        assert "errors  warnings  notes" not in command(".", "--check", "-q").errors

    def test_few_are(self, command: Command) -> None:
        script("idle.py", fake_engine.IDLE)
        command("idle.py", "--check")
        assert len(fake_engine.received) == 1


class TestJobs:
    @pytest.mark.parametrize("jobs", [None, 1, 2, 3])
    def test_answers_come_in_order(self, jobs: int | None) -> None:
        assert list(each_of(abs, range(-9, 0), jobs=jobs)) == list(range(9, 0, -1))

    def test_several_processes_are_used_where_they_may_be(self) -> None:
        def processes(jobs: int, *, together: bool) -> set[int]:
            return {*each_of(_process, range(8), jobs=jobs, together=together)}

        assert processes(1, together=True) == {os.getpid()}
        assert processes(2, together=False) == {os.getpid()}
        assert os.getpid() not in processes(2, together=True)

    def test_the_command_takes_a_number(self, command: Command) -> None:
        for number in range(6):
            script(f"folder/train{number}.py", fake_engine.TRAINING)
        for jobs in ("1", "4"):
            assert "6 would be converted" in command("folder", "--check", "-j", jobs).errors
        assert command("folder", "--check", "-j", "0").status == 2


def standard_error(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "file"])
class TestProgress:
    def test_a_terminal_shows_how_far_it_is(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
    ) -> None:
        stream = standard_error(monkeypatch, is_terminal)
        progress = Progress(9, "reading")
        first = stream.getvalue()
        for _ in range(9):
            progress.clear()
            progress.step()
        shown = stream.getvalue()
        if not is_terminal:
            assert shown == ""
            return
        assert first.endswith("0 of 9 scripts")
        assert "8 of 9 scripts" in shown
        assert "9 of 9" not in shown
        assert shown.endswith("\r\x1b[K")

    def test_few_scripts_need_none(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
    ) -> None:
        stream = standard_error(monkeypatch, is_terminal)
        Progress(2, "reading").step()
        assert stream.getvalue() == ""

    def test_few_that_take_long_do(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
    ) -> None:
        stream = standard_error(monkeypatch, is_terminal)
        monkeypatch.setattr("transpile.cli.terminal._WORTH_A_LINE", 0)
        progress = Progress(2, "reading")
        progress.step()
        assert stream.getvalue().endswith("1 of 2 scripts") == is_terminal
        progress.step()
        assert stream.getvalue().endswith("\r\x1b[K") == is_terminal

    def test_one_script_tells_for_how_long(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
    ) -> None:
        stream = standard_error(monkeypatch, is_terminal)
        monkeypatch.setattr("transpile.cli.terminal._WORTH_A_LINE", 0)
        monkeypatch.setattr("transpile.cli.terminal._TICK", 60)
        progress = Progress(1, "reading")
        until(lambda: "reading" in stream.getvalue() or not is_terminal)
        progress.step()
        shown = stream.getvalue()
        assert shown == ("\r\x1b[Kreading\r\x1b[K" if is_terminal else "")

    def test_what_goes_on_is_told_with_its_details(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
    ) -> None:
        stream = standard_error(monkeypatch, is_terminal)
        monkeypatch.setattr("transpile.cli.terminal._TICK", 0.01)
        numbers = iter(range(10**6))
        waiting = Waiting()
        waiting.begin("running: original", lambda: f"{next(numbers)} steps")
        until(lambda: "original, 3 steps" in stream.getvalue() or not is_terminal)
        waiting.begin("running: 1 process")
        until(lambda: "1 process" in stream.getvalue() or not is_terminal)
        waiting.clear()
        assert stream.getvalue().endswith("running: 1 process\r\x1b[K") == is_terminal


def until(comes: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not comes():
        assert time.monotonic() < end
        time.sleep(0.002)


def _process(item: int) -> int:
    return os.getpid()
