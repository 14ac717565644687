"""Where the output goes: standard output, a file, a folder, in place."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import Command, Run, process, script


class TestWithoutOutput:
    def test_the_converted_text_goes_to_standard_output(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        run = command("train.py")
        assert run == Run(
            0,
            fake_engine.CONVERTED,
            "train.py:1:1: PT100 a note [note]\n1 converted (1 note)\n",
        )
        assert Path("train.py").read_bytes() == fake_engine.TRAINING

    def test_what_needs_nothing_is_copied(self, command: Command) -> None:
        script("idle.py", fake_engine.IDLE)
        run = command("idle.py")
        assert (run.status, run.output) == (0, fake_engine.IDLE)
        assert run.errors.endswith("1 unchanged (1 note)\n")

    def test_a_warning_is_status_1(self, command: Command) -> None:
        script("train.py", fake_engine.WARNED)
        run = command("train.py")
        assert run.status == 1
        assert b"distributed" in run.output
        assert "train.py:2:1: PT200 a warning [warning]\n    look\n    twice\n" in run.errors

    def test_a_refusal_is_status_3_and_prints_no_code(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        run = command("train.py")
        assert (run.status, run.output) == (3, b"")
        assert "train.py:2:5: PT300 an error [error]\n    do it by hand\n" in run.errors
        assert run.errors.endswith("1 refused (1 error, 1 note)\n")

    def test_a_partial_conversion_is_printed_when_asked_for(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        run = command("train.py", "--allow-partial")
        assert run.status == 1
        assert b"distributed" in run.output

    def test_several_inputs_are_a_usage_error(self, command: Command) -> None:
        script("a.py", fake_engine.TRAINING)
        script("b.py", fake_engine.TRAINING)
        run = command("a.py", "b.py")
        assert (run.status, run.output) == (2, b"")

    def test_standard_input(self) -> None:
        run = process(["-"], stdin=fake_engine.TRAINING)
        assert (run.status, run.output) == (0, fake_engine.CONVERTED)
        assert run.errors.startswith("<stdin>:1:1: PT100")

    def test_bytes_pass_unchanged(self, command: Command) -> None:
        content = b"\xef\xbb\xbf# convert\r\nx = 'single'\t\r\n# \xe9\xff no newline"
        script("train.py", content)
        assert command("train.py").output == content.replace(b"single", b"distributed")


class TestOutputFile:
    def test_it_is_written(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        run = command("train.py", "-o", "train_dist.py")
        assert (run.status, run.output) == (0, b"")
        assert Path("train_dist.py").read_bytes() == fake_engine.CONVERTED
        assert sorted(os.listdir()) == ["train.py", "train_dist.py"]

    def test_it_takes_the_mode_of_the_input(self, command: Command) -> None:
        path = script("train.py", fake_engine.TRAINING)
        path.chmod(0o744)
        command("train.py", "-o", "train_dist.py")
        assert stat.S_IMODE(os.stat("train_dist.py").st_mode) == 0o744

    def test_what_needs_nothing_is_copied(self, command: Command) -> None:
        script("idle.py", fake_engine.IDLE)
        assert command("idle.py", "-o", "copy.py").status == 0
        assert Path("copy.py").read_bytes() == fake_engine.IDLE

    def test_a_refusal_writes_nothing(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        assert command("train.py", "-o", "train_dist.py").status == 3
        assert os.listdir() == ["train.py"]

    def test_a_second_run_finds_its_own_output(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        command("train.py", "-o", "train_dist.py")
        before = os.stat("train_dist.py")
        assert command("train.py", "-o", "train_dist.py").status == 0
        assert os.stat("train_dist.py").st_ino == before.st_ino

    def test_a_foreign_file_needs_force(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        script("train_dist.py", b"mine\n")
        run = command("train.py", "-o", "train_dist.py")
        assert run.status == 2
        assert "train_dist.py:1:1: DT903 exists" in run.errors
        assert "--force" in run.errors
        assert Path("train_dist.py").read_bytes() == b"mine\n"
        assert command("train.py", "-o", "train_dist.py", "--force").status == 0
        assert Path("train_dist.py").read_bytes() == fake_engine.CONVERTED

    def test_an_empty_file_is_nobodys(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        script("train_dist.py", b"")
        assert command("train.py", "-o", "train_dist.py").status == 0

    @pytest.mark.parametrize("extra", [[], ["--force"]])
    @pytest.mark.parametrize("output", ["train.py", "./train.py", "link.py", "hard.py", "sub/.."])
    def test_the_input_itself_needs_in_place(
        self, command: Command, output: str, extra: list[str]
    ) -> None:
        script("train.py", fake_engine.TRAINING)
        Path("sub").mkdir()
        Path("link.py").symlink_to("train.py")
        Path("hard.py").hardlink_to("train.py")
        run = command("train.py", "-o", output, *extra)
        assert run.status == 2
        assert "--in-place" in run.errors
        assert Path("train.py").read_bytes() == fake_engine.TRAINING

    def test_a_folder_takes_every_input_under_its_name(self, command: Command) -> None:
        script("a/one.py", fake_engine.TRAINING)
        script("b/two.py", fake_engine.IDLE)
        script("c/three.py", fake_engine.REFUSED)
        run = command("a/one.py", "b/two.py", "c/three.py", "-o", "out/")
        assert run.status == 3
        assert run.errors.endswith("1 converted, 1 unchanged, 1 refused (1 error, 3 notes)\n")
        assert sorted(os.listdir("out")) == ["one.py", "two.py"]

    def test_a_refusal_makes_no_folder(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        assert command("train.py", "-o", "out/").status == 3
        assert not os.path.exists("out")

    def test_two_inputs_of_one_name_are_a_usage_error(self, command: Command) -> None:
        script("a/train.py", fake_engine.TRAINING)
        script("b/train.py", fake_engine.TRAINING)
        assert command("a/train.py", "b/train.py", "-o", "out/").status == 2
        assert not os.path.exists("out")

    def test_several_inputs_need_a_folder(self, command: Command) -> None:
        script("a.py", fake_engine.TRAINING)
        script("b.py", fake_engine.TRAINING)
        run = command("a.py", "b.py", "-o", "out.py")
        assert run.status == 2
        assert "-o FOLDER/" in run.errors

    def test_a_missing_folder_of_a_file_is_one_clear_line(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        run = command("train.py", "-o", "missing/train_dist.py")
        assert run.status == 2
        assert "missing/train_dist.py:1:1: DT903 cannot be written: No such file" in run.errors

    def test_a_dash_is_standard_output(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        assert command("train.py", "-o", "-").output == fake_engine.CONVERTED

    def test_one_failure_does_not_stop_the_others(self, command: Command) -> None:
        script("good.py", fake_engine.TRAINING)
        run = command("missing.py", "good.py", "-o", "out/")
        assert run.status == 2
        assert Path("out/good.py").read_bytes() == fake_engine.CONVERTED


class TestInPlace:
    def test_it_overwrites_the_input_and_keeps_its_mode(self, command: Command) -> None:
        path = script("train.py", fake_engine.TRAINING)
        path.chmod(0o751)
        assert command("train.py", "--in-place").status == 0
        assert path.read_bytes() == fake_engine.CONVERTED
        assert stat.S_IMODE(path.stat().st_mode) == 0o751
        assert os.listdir() == ["train.py"]

    def test_a_second_run_changes_nothing(self, command: Command) -> None:
        path = script("train.py", fake_engine.TRAINING)
        command("train.py", "--in-place")
        before = path.stat()
        assert command("train.py", "--in-place").status == 0
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_a_link_is_written_through(self, command: Command) -> None:
        path = script("real.py", fake_engine.TRAINING)
        Path("link.py").symlink_to("real.py")
        command("link.py", "--in-place")
        assert Path("link.py").is_symlink()
        assert path.read_bytes() == fake_engine.CONVERTED

    def test_the_status_of_several_is_the_highest(self, command: Command) -> None:
        good = script("good.py", fake_engine.TRAINING)
        bad = script("bad.py", fake_engine.REFUSED)
        warned = script("warned.py", fake_engine.WARNED)
        assert command("good.py", "bad.py", "warned.py", "--in-place").status == 3
        assert good.read_bytes() == fake_engine.CONVERTED
        assert bad.read_bytes() == fake_engine.REFUSED
        assert b"distributed" in warned.read_bytes()

    def test_a_file_that_changed_meanwhile_is_left_alone(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = script("train.py", fake_engine.TRAINING)
        original = fake_engine.convert

        def slow(source: bytes, *args: object, **kwargs: object) -> object:
            path.write_bytes(b"edited\n")
            return original(source)

        monkeypatch.setattr(sys.modules["transpile.engine"], "convert", slow)
        run = command("train.py", "--in-place")
        assert run.status == 2
        assert "changed while" in run.errors
        assert path.read_bytes() == b"edited\n"

    def test_a_write_protected_file_is_one_clear_line(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = script("train.py", fake_engine.TRAINING)
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        run = command("train.py", "--in-place")
        assert run.status == 2
        assert "train.py:1:1: DT903 cannot be written: write-protected [error]\n" in run.errors
        assert path.read_bytes() == fake_engine.TRAINING
