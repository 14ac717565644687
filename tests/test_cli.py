"""The command's contract, apart from any rule: see fake_engine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import fake_engine
import pytest

from transpile.cli import main
from transpile.options import Options

PROGRAM = "import sys, fake_engine; fake_engine.install(); from transpile.cli import main; "
FINDING = re.compile(r"^[^:]+:\d+:\d+: [A-Z]+\d+ .+ \[(note|warning|error)\]$")


@dataclass(frozen=True)
class Run:
    status: int
    output: bytes
    errors: str


Command = Callable[..., Run]


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


def process(
    words: Sequence[str | bytes],
    *,
    code: str = "sys.exit(main())",
    stdin: bytes = b"",
    **settings: str,
) -> Run:
    """The command in a process of its own, on the fake engine."""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.path.dirname(here)])}
    environment |= settings
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code, *words],
        input=stdin,
        capture_output=True,
        env=environment,
        timeout=60,
    )
    return Run(done.returncode, done.stdout, done.stderr.decode())


def script(name: str, content: bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


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


class TestCheck:
    @pytest.mark.parametrize(
        ("content", "status", "summary"),
        [
            (fake_engine.TRAINING, 1, "1 would be converted (1 note)"),
            (fake_engine.IDLE, 0, "1 unchanged (1 note)"),
            (fake_engine.IDLE + b"# warn\n", 1, "1 unchanged (1 warning, 1 note)"),
            (fake_engine.REFUSED, 3, "1 refused (1 error, 1 note)"),
            (b"# syntax\n", 2, "1 failed (1 error)"),
        ],
    )
    def test_the_status_tells(
        self, command: Command, content: bytes, status: int, summary: str
    ) -> None:
        path = script("train.py", content)
        run = command("train.py", "--check")
        assert (run.status, run.output) == (status, b"")
        assert run.errors.endswith(summary + "\n")
        assert path.read_bytes() == content
        assert os.listdir() == ["train.py"]

    def test_a_folder_is_searched_for_what_trains(self, command: Command) -> None:
        script("project/train.py", fake_engine.TRAINING)
        script("project/deep/er/train.py", fake_engine.WARNED)
        script("project/idle.py", b"# torch\n" + fake_engine.IDLE)
        script("project/gated.py", b"# crash\n")
        script("project/notes.txt", fake_engine.TRAINING)
        script("project/.hidden/train.py", fake_engine.TRAINING)
        script("project/env/pyvenv.cfg", b"")
        script("project/env/lib/train.py", fake_engine.TRAINING)
        script("project/__pycache__/train.py", fake_engine.TRAINING)
        Path("project/loop").symlink_to("../project")
        Path("project/nothing.py").symlink_to("missing")
        os.mkfifo("project/pipe.py")
        run = command("project", "--check")
        assert run.status == 1
        places = [line.split(":")[0] for line in run.errors.splitlines() if "PT100" in line]
        assert places == ["project/train.py", "project/deep/er/train.py"]
        assert run.errors.endswith("2 would be converted (1 warning, 2 notes)\n")

    def test_a_large_folder_is_shared_among_processes(self, command: Command) -> None:
        contents = [fake_engine.TRAINING, fake_engine.IDLE + b"# torch", fake_engine.REFUSED]
        for index in range(30):
            script(f"project/{index:02}.py", contents[index % 3] + b"# torch\n")
        alone = [command(f"project/{index:02}.py", "--diff") for index in range(30)]
        run = command("project", "--diff")
        assert run.status == 3
        assert run.output == b"".join(each.output for each in alone)
        assert run.errors.endswith("10 would be converted, 10 refused (10 errors, 20 notes)\n")

    def test_a_folder_without_training_is_done(self, command: Command) -> None:
        script("project/idle.py", fake_engine.IDLE)
        assert command("project", "--check") == Run(0, b"", "no training script found\n")

    def test_a_folder_that_cannot_be_listed_is_said(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        script("project/secret/train.py", fake_engine.TRAINING)
        listing = os.scandir

        def scandir(path: str) -> object:
            if path.endswith("secret"):
                raise PermissionError(13, "Permission denied", path)
            return listing(path)

        monkeypatch.setattr(os, "scandir", scandir)
        run = command("project", "--check")
        assert run.status == 2
        assert "project/secret:1:1: DT901 cannot be listed: Permission denied" in run.errors

    @pytest.mark.parametrize("words", [[], ["--plan"]])
    def test_a_folder_cannot_be_printed(self, command: Command, words: list[str]) -> None:
        path = script("project/train.py", fake_engine.TRAINING)
        run = command("project", *words)
        assert run.status == 2
        assert "project:1:1: DT901 is a folder, which --check, --diff, --in-place" in run.errors
        assert path.read_bytes() == fake_engine.TRAINING


class TestDiff:
    def test_it_shows_the_change_and_writes_nothing(self, command: Command) -> None:
        path = script("train.py", fake_engine.TRAINING)
        run = command("train.py", "--diff")
        assert run.status == 1
        assert run.output == (
            b"--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n"
            b" # convert torch\n-x = 'single'\n+x = 'distributed'\n"
        )
        assert path.read_bytes() == fake_engine.TRAINING

    def test_it_lists_what_could_not_be_changed(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        run = command("train.py", "--diff")
        assert (run.status, run.output) == (3, b"")
        lines = run.errors.splitlines()
        heading = lines.index("Could not be changed, look at it by hand:")
        assert lines[heading + 1] == "train.py:2:5: PT300 an error [error]"

    def test_nothing_to_change_is_no_diff(self, command: Command) -> None:
        script("idle.py", fake_engine.IDLE)
        run = command("idle.py", "--diff")
        assert (run.status, run.output) == (0, b"")

    def test_several_files_make_one_diff(self, command: Command) -> None:
        script("a.py", fake_engine.TRAINING)
        script("b.py", fake_engine.TRAINING)
        run = command("a.py", "b.py", "--diff", "--check")
        assert run.status == 1
        assert run.output.count(b"@@ -1,2 +1,2 @@") == 2

    def test_it_comes_before_the_findings(self) -> None:
        script("train.py", fake_engine.WARNED)
        run = process(["train.py", "--diff"], code="import os; os.dup2(1, 2); sys.exit(main())")
        assert run.output.index(b"+x = 'distributed'") < run.output.index(b"Could not be changed")


class TestPlan:
    def test_it_is_json(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        run = command("train.py", "--plan")
        assert run.status == 0
        assert json.loads(run.output) == {
            "path": "train.py",
            "outcome": "converted",
            "plan": {"framework": "pytorch", "models": [{"name": "x"}]},
        }

    def test_a_refused_script_has_one_too(self, command: Command) -> None:
        script("train.py", fake_engine.REFUSED)
        run = command("train.py", "--plan")
        assert run.status == 3
        assert json.loads(run.output)["outcome"] == "refused"


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
            ["train.py", "--framework", "singa"],
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
                allow_partial=True,
                target_python=(3, 12),
            )
        ]

    def test_the_defaults_are_those_of_the_library(self, command: Command) -> None:
        script("train.py", fake_engine.TRAINING)
        command("train.py")
        assert fake_engine.received == [Options()]

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


class TestStreams:
    def test_a_closed_pipe_is_quiet(self) -> None:
        script("train.py", fake_engine.TRAINING + b"x = 'single'\n" * 100_000)
        for words in (["train.py"], ["train.py", "--plan"], ["--help"], ["explain", "DT901"]):
            code = "import os; reader, writer = os.pipe(); os.dup2(writer, 1); os.close(reader); "
            run = process(words, code=code + "sys.exit(main())")
            assert run.status == 1, words
            assert not [line for line in run.errors.splitlines() if not FINDING.match(line)]

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    def test_a_full_device_is_one_line(self) -> None:
        script("train.py", fake_engine.TRAINING)
        code = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); sys.exit(main())"
        run = process(["train.py"], code=code)
        assert run.status == 2
        assert run.errors == "disttranspile: standard output: No space left on device\n"

    @pytest.mark.parametrize("words", [["train.py"], ["train.py", "--diff"]])
    def test_standard_output_closed_from_the_start(self, words: list[str]) -> None:
        script("train.py", fake_engine.TRAINING)
        run = process(words, code="sys.stdout = None; sys.exit(main())")
        assert (run.status, run.errors) == (2, "disttranspile: standard output: closed\n")

    def test_standard_error_closed_from_the_start(self) -> None:
        script("train.py", fake_engine.TRAINING)
        run = process(["train.py"], code="sys.stderr = None; sys.exit(main())")
        assert (run.status, run.output) == (0, fake_engine.CONVERTED)

    def test_standard_input_closed_from_the_start(self) -> None:
        run = process(["-"], code="sys.stdin = None; sys.exit(main())")
        assert run.status == 2
        assert "<stdin>:1:1: DT901 cannot be read: closed" in run.errors

    def test_an_interruption_is_one_line(self) -> None:
        script("train.py", fake_engine.TRAINING)
        code = (
            "engine = sys.modules['transpile.engine']\n"
            "def interrupt(*args, **kwargs): raise KeyboardInterrupt\n"
            "engine.convert = interrupt\n"
            "sys.exit(main())"
        )
        run = process(["train.py", "-o", "out.py"], code="\n" + code)
        assert run.status == 130
        assert run.errors.strip() == "disttranspile: interrupted"
        assert os.listdir() == ["train.py"]


class TestColour:
    def colours(self, words: list[str], **settings: str) -> bool:
        """Whether the command colours what it writes to a terminal."""
        import pty

        parent, child = pty.openpty()
        here = os.path.dirname(os.path.abspath(__file__))
        environment = {**os.environ, "TERM": "xterm", **settings}
        environment["PYTHONPATH"] = os.pathsep.join([here, os.path.dirname(here)])
        done = subprocess.Popen(
            [sys.executable, "-c", PROGRAM + "sys.exit(main())", *words],
            stdout=child,
            stderr=child,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        os.close(child)
        written = b""
        try:
            while chunk := os.read(parent, 65536):
                written += chunk
        except OSError:
            pass  # Linux says so when the other side is closed.
        os.close(parent)
        assert done.wait(60) in (0, 1)
        assert b"PT100" in written
        return b"\x1b[" in written

    def test_a_terminal_gets_colour_unless_it_says_no(self) -> None:
        script("train.py", fake_engine.WARNED)
        assert self.colours(["train.py", "--diff"])
        assert self.colours(["train.py", "--check"])
        assert not self.colours(["train.py", "--diff"], NO_COLOR="1")
        assert not self.colours(["train.py", "--diff"], TERM="dumb")

    def test_a_file_gets_none(self) -> None:
        script("train.py", fake_engine.WARNED)
        run = process(["train.py", "--diff"])
        assert b"\x1b" not in run.output
        assert "\x1b" not in run.errors


class TestOutputFormat:
    def test_the_report_goes_to_standard_output_where_that_is_free(self, command: Command) -> None:
        script("train.py", fake_engine.WARNED)
        run = command("train.py", "missing.py", "--check", "--output-format", "json")
        assert (run.status, run.errors) == (2, "")
        files = json.loads(run.output)["files"]
        assert [(file["path"], file["outcome"]) for file in files] == [
            ("train.py", "converted"),
            ("missing.py", "failed"),
        ]
        run = command("train.py", "-o", "out.py", "--output-format", "github")
        assert run.output.startswith(b"::notice file=train.py,line=1,col=1,title=PT100::a note\n")

    @pytest.mark.parametrize("words", [[], ["--diff"], ["--plan"]])
    def test_and_to_standard_error_where_it_is_not(
        self, command: Command, words: list[str]
    ) -> None:
        script("train.py", fake_engine.TRAINING)
        run = command("train.py", *words, "--output-format", "json")
        assert b"distributed" in run.output or b"plan" in run.output
        assert json.loads(run.errors)["files"][0]["path"] == "train.py"


class TestCost:
    def modules(self, words: list[str]) -> set[str]:
        """What the command has imported by its end."""
        code = "status = main(); print(*sys.modules, sep=',', file=sys.stderr); sys.exit(status)"
        script("train.py", fake_engine.TRAINING)
        run = process(words, code=code)
        return set(run.errors.splitlines()[-1].split(","))

    def test_conversion_imports_what_it_needs_alone(self) -> None:
        # click itself imports difflib for a short option.
        modules = self.modules(["train.py", "--output", "out.py"])
        assert "click" in modules
        unwanted = {"rich", "difflib", "transpile.verify", "transpile.report.json"}
        unwanted |= {"libcst.matchers", "libcst.codemod", "asyncio", "hashlib"}
        assert sorted(modules & unwanted) == []

    def test_help_does_not_import_libcst(self) -> None:
        code = (
            "import sys; from transpile.cli import main; status = main(['--help']);"
            "print(*sys.modules, sep=',', file=sys.stderr); sys.exit(status)"
        )
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
            timeout=60,
        )
        assert done.returncode == 0
        modules = set(done.stderr.split(","))
        assert not modules & {"libcst", "rich", "difflib", "transpile.engine", "transpile.catalog"}


class TestStart:
    """The command as a process of its own, on the real engine."""

    def started(self, *words: str, stdin: bytes = b"") -> Run:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        done = subprocess.run(
            [sys.executable, "-m", "transpile", *words],
            input=stdin,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": root},
            timeout=60,
        )
        return Run(done.returncode, done.stdout, done.stderr.decode())

    def test_everything_is_written_before_the_process_ends(self) -> None:
        script("idle.py", fake_engine.IDLE * 1000)
        run = self.started("idle.py")
        assert (run.status, run.output) == (0, fake_engine.IDLE * 1000)
        assert run.errors.endswith("1 unchanged (1 note)\n")

    def test_the_status_gets_out(self) -> None:
        script("idle.py", fake_engine.IDLE)
        assert self.started("idle.py", "--check").status == 0
        assert self.started("missing.py").status == 2
        assert self.started("--unknown").status == 2
        help_text = self.started("--help")
        assert (help_text.status, help_text.errors) == (0, "")
        assert help_text.output.endswith(b"the findings say why\n")


def test_many_scripts_do_not_pile_up() -> None:
    code = """
import gc, resource
gc.disable()
engine = sys.modules["transpile.engine"]
original = engine.convert
def convert(source, options, path):
    cycle = [bytearray(4 * 1024 * 1024)]
    cycle.append(cycle)
    return original(source, options, path=path)
engine.convert = convert
main(["a.py"] * 2 + ["--check"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
main(["a.py"] * 20 + ["--check"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    script("a.py", fake_engine.TRAINING)
    kibibytes = int(process([], code="\n" + code).output)
    assert kibibytes < 20 * 1024


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_command(how: signal.Signals) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # Tests in the background ignore it.
engine = sys.modules["transpile.engine"]
def convert(source, options, path):
    with open(f"{os.getpid()}.pid", "w"):
        time.sleep(60)
engine.convert = convert
from transpile.cli import start
start()
"""
    for index in range(16):
        script(f"project/{index}.py", fake_engine.TRAINING)
    here = os.path.dirname(os.path.abspath(__file__))
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code, "project", "--check"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, os.path.dirname(here)])},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(list(Path().glob("*.pid"))) == min(len(os.sched_getaffinity(0)), 4))
    workers = {int(path.stem) for path in Path().glob("*.pid")} - {started.pid}
    started.send_signal(how)
    _, errors = started.communicate(timeout=120)
    assert started.returncode == (130 if how is signal.SIGINT else -how)
    assert errors.strip() == ("disttranspile: interrupted" if how is signal.SIGINT else "")
    wait_until(lambda: not any(is_running(worker) for worker in workers))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False  # It has ended since it was asked.
    return status.rsplit(")", 1)[1].split()[0] != "Z"
