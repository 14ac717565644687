"""What is asked for wrongly, and inputs that mean harm."""

from __future__ import annotations

import os
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import FINDING, Command, Run, process, script

from transpile.options import Options


class TestUsage:
    @pytest.mark.parametrize(
        "words",
        [
            [],
            ["--diff"],
            ["train.py", "--unknown"],
            ["train.py", "--batch-size", "huge"],
            ["train.py", "--scale-lr", "linear"],
            ["train.py", "--timeout", "0"],
            ["train.py", "--timeout", "soon"],
            ["train.py", "--target-python", "2.7"],
            ["train.py", "--target-python", "3.5"],
            ["train.py", "--framework", "jax"],
            ["train.py", "--framework", "pytorch", "--kvstore", "dist_async"],
            ["train.py", "--framework", "mxnet", "--backend", "nccl"],
            ["train.py", "--framework", "fluid", "--script-args"],
            ["train.py", "--in-place", "--diff"],
            ["train.py", "-o", "x.py", "--in-place"],
            ["train.py", "-o", "x.py", "--check"],
            ["train.py", "--diff", "--plan"],
            ["-", "-", "--check"],
            ["-", "--in-place"],
            ["-", "-o", "out/"],
            ["train.py", "--output-format", "xml"],
        ],
    )
    def test_a_usage_error_is_status_2_and_writes_nothing(
        self, command: Command, words: list[str]
    ) -> None:
        path = script("train.py", fake_engine.TRAINING)
        run = command(*words)
        assert (run.status, run.output) == (2, b"")
        assert "Error: " in run.errors
        assert path.read_bytes() == fake_engine.TRAINING
        assert os.listdir() == ["train.py"]

    def test_an_option_of_another_framework_than_the_scripts_is_one(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script("train.py", fake_engine.TRAINING)
        original = fake_engine.convert

        def mxnet(source: bytes, *args: object, **kwargs: object) -> object:
            return replace(original(source), plan={"framework": "mxnet"})

        monkeypatch.setattr(sys.modules["transpile.engine"], "convert", mxnet)
        assert command("train.py", "-o", "out.py", "--batch-size", "per-device").status == 0
        run = command("train.py", "-o", "other.py", "--timeout", "5")
        assert run.status == 2
        assert "--timeout does not fit mxnet" in run.errors
        assert not os.path.exists("other.py")

    def test_the_options_reach_the_engine(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        words = (
            "--framework pytorch --batch-size per-device --scale-lr sqrt --eval shard --backend mpi"
            " --script-args --timeout 7 --sync-bn off --allow-partial --target-python 3.12"
        )
        command("train.py", *words.split())
        assert fake_engine.received == [
            Options(
                framework="pytorch",
                batch_size="per-device",
                scale_lr="sqrt",
                evaluation="shard",
                backend="mpi",
                script_args=True,
                timeout_minutes=7,
                sync_batch_norm="off",
                helpers="inline",
                allow_partial=True,
                target_python=(3, 12),
            )
        ]

    def test_the_defaults_are_those_of_the_library(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        command("train.py")
        # One file on standard output holds all.
        assert fake_engine.received == [Options(helpers="inline")]

    def test_a_first_word_that_names_a_command_is_the_command(self, command: Command) -> None:
        script("explain", fake_engine.TRAINING)
        assert b"cannot be read" in command("explain", "DT901").output
        assert command("./explain").output == fake_engine.CONVERTED
        script("train.py", fake_engine.TRAINING)
        assert command("convert", "train.py").output == fake_engine.CONVERTED

    def test_help_and_version(self, command: Command) -> None:
        run = command("--help")
        assert (run.status, run.errors) == (0, "")
        assert b"Usage: disttranspile [OPTIONS] FILE..." in run.output
        for word in (b"explain", b"verify", b"Exit status"):
            assert word in run.output
        assert command("--version").output.startswith(b"disttranspile, version 0.")


class TestHostileInput:
    def one_line(self, run: Run, pattern: str) -> None:
        lines = run.errors.splitlines()
        assert len(lines) == 2, run.errors
        assert re.search(pattern, lines[0]), lines[0]
        assert FINDING.match(lines[0])
        assert (run.status, run.output) == (2, b"")

    def test_a_missing_file(self, command: Command) -> None:
        self.one_line(command("nowhere.py"), "DT901 cannot be read: No such file")

    def test_a_dangling_link(self, command: Command) -> None:
        Path("link.py").symlink_to("gone.py")
        self.one_line(command("link.py"), "DT901 cannot be read: No such file")

    def test_a_loop_of_links(self, command: Command) -> None:
        Path("a.py").symlink_to("b.py")
        Path("b.py").symlink_to("a.py")
        self.one_line(command("a.py"), "DT901 cannot be read: Too many levels of symbolic links")
        self.one_line(command("a.py", "--check"), "Too many levels of symbolic links")

    def test_a_pipe_does_not_hang(self, command: Command) -> None:
        os.mkfifo("pipe.py")
        self.one_line(command("pipe.py"), "DT901 is a named pipe, not a script")

    def test_a_socket(self, command: Command) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
            self.one_line(command("socket.py"), "DT901 is a socket, not a script")

    def test_a_device(self, command: Command) -> None:
        self.one_line(command("/dev/zero"), "DT901 is a device, not a script")

    def test_a_folder(self, command: Command) -> None:
        Path("folder.py").mkdir()
        self.one_line(command("folder.py"), "DT901 is a folder")

    def test_a_file_that_may_not_be_read(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script("train.py", fake_engine.TRAINING)

        original = os.open

        def denied(path: str, *args: int, **kwargs: int) -> int:
            if path == "train.py":
                raise PermissionError(13, "Permission denied", path)
            return original(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", denied)
        self.one_line(command("train.py"), "DT901 cannot be read: Permission denied")

    def test_a_huge_file(self, command: Command) -> None:
        with open("huge.py", "wb") as stream:
            stream.truncate(2**40)
        self.one_line(command("huge.py"), "DT901 is larger than 16 MiB")

    def test_a_name_too_long(self, command: Command) -> None:
        self.one_line(command("x" * 300 + ".py"), "DT901 cannot be read: File name too long")

    def test_a_syntax_error_has_its_place(self, command: Command) -> None:
        script("train.py", b"# syntax\n")
        self.one_line(command("train.py"), "^train.py:3:7: DT902 invalid syntax")

    def test_a_failure_of_the_tool_is_one_line_and_a_refusal(self, command: Command) -> None:
        script("train.py", b"# crash\n")
        run = command("train.py", "-o", "out.py")
        assert run.status == 3
        first = run.errors.splitlines()[0]
        assert (
            "DT904 internal error: ZeroDivisionError: division\\nby zero (fake_engine.py:" in first
        )
        assert "Traceback" not in run.errors
        assert not os.path.exists("out.py")

    def test_a_file_name_that_is_no_text(self) -> None:
        name = b"tr\xff\xe9in.py"
        with open(name, "wb") as stream:
            stream.write(fake_engine.TRAINING)
        run = process([name, "-o", b"out\xff.py"])
        assert run.status == 0
        assert run.errors.startswith("tr\\udcff\\udce9in.py:1:1: PT100")
        with open(b"out\xff.py", "rb") as stream:
            assert stream.read() == fake_engine.CONVERTED
        os.remove(b"out\xff.py")
        diff = process([name, "--diff"])
        assert diff.output.startswith(b'--- "a/tr\\377\\351in.py"\n')
        for output_format in ("json", "sarif", "github", "markdown"):
            assert process([name, "--check", "--output-format", output_format]).status == 1

    def test_a_file_name_with_commands(self, command: Command) -> None:
        name = "::error::x\n\x1b[31m##[group].py"
        script(name, fake_engine.TRAINING)
        run = command(name)
        assert run.errors.startswith(":\\:error::x\\n\\x1b[31m##\\[group].py:1:1: PT100")

    def test_a_terminal_that_knows_ascii_alone(self) -> None:
        script("tré.py", fake_engine.TRAINING)
        run = process(["tré.py"], PYTHONIOENCODING="ascii:strict", PYTHONUTF8="0")
        assert run.status == 0
        assert "tr\\xe9.py:1:1" in run.errors
