"""Standard streams, colours, and the forms of findings."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import fake_engine
import pytest
from on_fake_engine import FINDING, PROGRAM, PYTHON_PATH, Command, process, script


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
        environment = {**os.environ, "TERM": "xterm", **settings}
        environment["PYTHONPATH"] = PYTHON_PATH
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
