"""What --check, --diff and --plan show without writing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import fake_engine
import pytest
from on_fake_engine import Command, Run, process, script


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
