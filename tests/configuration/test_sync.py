"""Outputs that are kept up to date with their scripts, and scripts whose output is there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "pytorch"
TRAINING = (FIXTURES / "main_sgd" / "train.py").read_bytes()
PAIR = '[[script]]\nsource = "src/train.py"\noutput = "src/train_dist.py"\n'


@pytest.fixture
def project(command: Callable[..., Any]) -> Callable[..., Any]:
    Path("src").mkdir()
    Path("src/train.py").write_bytes(TRAINING)
    Path("disttranspile.toml").write_text(PAIR)
    return command


def test_a_missing_output_is_written_and_then_up_to_date(project: Callable[..., Any]) -> None:
    checked = project("sync", "--check")
    assert (checked.status, checked.output) == (1, b"1 out of date\n")
    assert not Path("src/train_dist.py").exists()
    first = project("sync")
    assert (first.status, first.output) == (1, b"1 written\n")
    again = project("sync")
    assert (again.status, again.output, again.errors) == (0, b"1 up to date\n", "")
    assert project("src/train.py").output == Path("src/train_dist.py").read_bytes()
    state = json.loads(Path("disttranspile.lock").read_text())
    assert list(state["outputs"]["src/train_dist.py"]) == ["src/train_dist.py"]


def test_a_changed_script_or_option_is_carried_over(project: Callable[..., Any]) -> None:
    project("sync")
    Path("src/train.py").write_bytes(TRAINING + b"# later\n")
    assert project("sync", "--check").status == 1
    assert project("sync").status == 1
    assert Path("src/train_dist.py").read_bytes().endswith(b"# later\n")
    Path("disttranspile.toml").write_text(f"{PAIR}timeout = 7\n")
    assert project("sync").status == 1
    assert b"minutes=7" in Path("src/train_dist.py").read_bytes()
    assert project("sync").status == 0


def test_what_the_project_accepts_is_not_told(project: Callable[..., Any]) -> None:
    Path("disttranspile.toml").write_text(f'batch-size = "per-device"\n{PAIR}')
    assert "PT223" in project("sync", "--check").errors
    Path("disttranspile.toml").write_text(f'batch-size = "per-device"\nignore = ["PT2"]\n{PAIR}')
    assert "PT223" not in project("sync", "--check").errors


def test_an_edit_by_hand_is_not_lost(project: Callable[..., Any]) -> None:
    project("sync")
    edited = Path("src/train_dist.py").read_bytes() + b"# mine\n"
    Path("src/train_dist.py").write_bytes(edited)
    for _ in range(2):
        run = project("sync")
        assert (run.status, run.output) == (1, b"1 edited by hand\n")
        assert "make the change in src/train.py" in run.errors
        assert Path("src/train_dist.py").read_bytes() == edited
    assert project("sync", "--force").status == 1
    assert project("sync").status == 0


def test_a_file_of_another_is_not_overwritten(project: Callable[..., Any]) -> None:
    Path("src/train_dist.py").write_text("mine = 1\n")
    assert project("sync").status == 1
    assert Path("src/train_dist.py").read_text() == "mine = 1\n"


def test_launch_files_belong_to_the_output_wherever_sync_is_called(
    project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("disttranspile.toml").write_text(
        f'{PAIR}launch = {{ targets = ["slurm", "torchrun"], nodes = 3 }}\n'
    )
    project("sync")
    launch = Path("src/train_dist.sbatch").resolve()
    data = launch.read_bytes()
    assert b"--nodes=3" in data
    monkeypatch.chdir("src")
    assert project("sync").status == 0
    monkeypatch.chdir("..")
    launch.unlink()
    assert project("launch", "src/train_dist.py", "--target", "slurm").status == 0
    assert launch.read_bytes() == data
    launch.write_bytes(data + b"# mine\n")
    assert project("sync").output == b"1 edited by hand\n"


def test_a_project_goes_into_a_folder(project: Callable[..., Any]) -> None:
    Path("src/model.py").write_text("from torch import nn\n\n\ndef make():\n    return nn.ReLU()\n")
    Path("src/train.py").write_bytes(b"import model  # noqa\n" + TRAINING)
    Path("disttranspile.toml").write_text('[[script]]\nsource = "src/train.py"\noutput = "out/"\n')
    assert project("sync").status == 1
    assert sorted(os.listdir("out")) == ["distributed_utils.py", "model.py", "train.py"]
    assert project("src/train.py", "--check").status == 0
    assert project("sync").status == 0
    Path("src/model.py").write_text("from torch import nn\n\n\ndef make():\n    return nn.GELU()\n")
    assert project("src/train.py", "--check").status == 1
    assert project("sync").status == 1
    assert "GELU" in Path("out/model.py").read_text()


def test_a_refused_script_leaves_its_output(project: Callable[..., Any]) -> None:
    project("sync")
    before = Path("src/train_dist.py").read_bytes()
    refused = next(
        path.parent / "train.py"
        for path in sorted(FIXTURES.glob("*/case.json"))
        if "refused" in path.read_text("utf-8")
    )
    Path("src/train.py").write_bytes(refused.read_bytes())
    run = project("sync")
    assert run.status == 3
    assert "[error]" in run.errors
    assert Path("src/train_dist.py").read_bytes() == before
    Path("src/train.py").unlink()
    run = project("sync")
    assert run.status == 2
    assert "where it was moved or renamed, say so in `source` of its table" in run.errors


def test_single_scripts_and_wrong_states(project: Callable[..., Any]) -> None:
    assert project("sync", "src/other.py").status == 2
    assert project("sync", "src/train.py").status == 1
    Path("disttranspile.lock").write_text("{}")
    run = project("sync")
    assert run.status == 2
    assert "disttranspile.lock: is damaged" in run.errors
    Path("disttranspile.toml").write_text("")
    assert project("sync").status == 0


class TestCheck:
    def test_an_output_beside_is_enough(self, command: Callable[..., Any]) -> None:
        Path("train.py").write_bytes(TRAINING)
        stopped = command("train.py", "--check")
        assert stopped.status == 1
        assert "train.py: would be converted\n" in stopped.errors
        assert command("train.py", "-o", "any_name.py").status == 0
        run = command("train.py", "any_name.py", "--check")
        assert run.status == 0, run.errors
        assert "its conversion is any_name.py" in run.errors
        below = command(".", "--check").errors
        assert "./train.py:1:1: DT909 its conversion is any_name.py" in below
        assert below.endswith("1 unchanged (1 note)\n")

    def test_one_with_other_options_or_edits_is_known_by_its_name(
        self, command: Callable[..., Any]
    ) -> None:
        Path("train.py").write_bytes(TRAINING)
        command("train.py", "-o", "train_dist.py", "--timeout", "5")
        run = command("train.py", "--check")
        assert run.status == 0
        assert "is not what a conversion makes now" in run.errors
        Path("train_dist.py").write_bytes(TRAINING)
        assert command("train.py", "--check").status == 1

    def test_a_pair_has_to_be_up_to_date(self, project: Callable[..., Any]) -> None:
        project("sync")
        assert project("src/train.py", "--check").status == 0
        Path("src/train.py").write_bytes(TRAINING + b"# later\n")
        run = project("src/train.py", "--check")
        assert run.status == 1
        assert "disttranspile sync" in run.errors

    def test_a_pair_that_launch_files_start_is_up_to_date_as_sync_writes_it(
        self, project: Callable[..., Any]
    ) -> None:
        Path("disttranspile.toml").write_text(
            f'{PAIR}launch = {{ targets = ["slurm"], nodes = 3 }}\n'
        )
        project("sync")
        written = Path("src/train_dist.py").read_bytes()
        assert b"check_launch()" in written
        run = project("src/train.py", "--check")
        assert (run.status, "its conversion is" in run.errors) == (0, True)
        assert project("src/train.py", "-o", "src/train_dist.py").status == 0
        assert project("sync", "--check").status == 0
        assert b"check_launch()" not in project("src/train.py").output
