"""The command on scripts with modules of their own, on the real engine."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import FIXTURES

from transpile.cli import main

PROJECT = FIXTURES / "pytorch" / "project_package"
SEARCHING = FIXTURES / "pytorch" / "project_search_path"
CHANGED = ("train.py", "shapes/data.py", "shapes/utils.py", "shapes/distributed_utils.py")

Command = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """The command in a folder that holds a copy of the project."""
    shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("train_dist"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, bytes, str]:
        status = main(words)
        output, errors = capfdbinary.readouterr()
        return status, output, errors.decode()

    return run


def files(folder: Path) -> dict[str, bytes]:
    """The Python files below a folder."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py")}


def nothing_is_left(folder: Path) -> bool:
    """Whether no temporary file is left."""
    return not [file for file in folder.rglob("*") if ".disttranspile" in file.name]


def test_a_folder_takes_the_whole_project(command: Command, tmp_path: Path) -> None:
    before = files(tmp_path / "project")
    os.chmod(tmp_path / "project/shapes/data.py", 0o640)
    status, output, _ = command("project/train.py", "-o", "out/")
    assert (status, output) == (0, b"")
    assert files(tmp_path / "out") == files(PROJECT / "train_dist")
    assert files(tmp_path / "project") == before
    assert stat.S_IMODE((tmp_path / "out/shapes/data.py").stat().st_mode) == 0o640
    assert command("project/train.py", "-o", "out/")[0] == 0
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize(("words", "target"), [((), "standard output"), (("-o", "t.py"), "t.py")])
def test_one_file_is_not_enough(
    command: Command, tmp_path: Path, words: tuple[str, ...], target: str
) -> None:
    status, output, errors = command("project/train.py", *words)
    assert (status, output) == (2, b"")
    assert errors.startswith(
        f"{target}:1:1: DT903 cannot hold the conversion, which changes other modules of the "
        "project, too: project/shapes/data.py, project/shapes/utils.py, "
    )
    assert "-o DIR/" in errors and "--in-place" in errors
    assert not (tmp_path / "t.py").exists()


def test_in_place_edits_all_of_them(command: Command, tmp_path: Path) -> None:
    assert command("project/train.py", "--in-place")[0] == 0
    assert files(tmp_path / "project") == files(PROJECT / "train_dist")
    status, _, errors = command("project/train.py", "--in-place")
    assert status == 0 and "DT003" in errors
    assert files(tmp_path / "project") == files(PROJECT / "train_dist")


@pytest.mark.parametrize("failing", range(len(CHANGED)))
def test_in_place_is_all_or_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    before = files(tmp_path / "project")
    rename, count = os.replace, 0

    def replace(source: str, target: str) -> None:
        nonlocal count
        count += 1
        if count == failing + 1:
            raise OSError(28, "No space left on device", target)
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)
    status, _, errors = command("project/train.py", "--in-place")
    assert status == 2 and "No space left on device" in errors
    assert files(tmp_path / "project") == before
    assert nothing_is_left(tmp_path)


def test_an_output_that_holds_something_else_keeps_all_of_it(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "out/shapes").mkdir(parents=True)
    (tmp_path / "out/shapes/utils.py").write_text("mine = 1\n")
    status, _, errors = command("project/train.py", "-o", "out/")
    assert status == 2 and "out/shapes/utils.py:1:1: DT903 exists" in errors
    assert files(tmp_path / "out") == {"shapes/utils.py": b"mine = 1\n"}
    assert command("project/train.py", "-o", "out/", "--force")[0] == 0
    assert files(tmp_path / "out") == files(PROJECT / "train_dist")


def test_a_diff_shows_every_file(command: Command, tmp_path: Path) -> None:
    before = files(tmp_path / "project")
    status, output, _ = command("project/train.py", "--diff")
    assert status == 1
    headers = [line for line in output.splitlines() if line.startswith((b"--- ", b"+++ "))]
    assert headers == [
        b"--- a/project/train.py",
        b"+++ b/project/train.py",
        b"--- a/project/shapes/data.py",
        b"+++ b/project/shapes/data.py",
        b"--- a/project/shapes/utils.py",
        b"+++ b/project/shapes/utils.py",
        b"--- /dev/null",
        b"+++ b/project/shapes/distributed_utils.py",
    ]
    assert command("project/train.py", "--check")[0] == 1
    assert files(tmp_path / "project") == before


def test_a_folder_as_input_gives_its_scripts_with_their_modules(
    command: Command, tmp_path: Path
) -> None:
    status, _, errors = command("project", "-o", "out/")
    assert status == 0
    assert files(tmp_path / "out") == files(PROJECT / "train_dist")
    assert errors == "1 converted\n"
    assert command("project", "--in-place")[0] == 0
    assert files(tmp_path / "project") == files(PROJECT / "train_dist")


def test_a_folder_needs_a_folder(command: Command, tmp_path: Path) -> None:
    status, _, errors = command("project", "-o", "out.py")
    assert status == 2 and "a folder as input needs a folder as output" in errors
    assert not (tmp_path / "out.py").exists()


def test_places_are_kept_below_the_folder(command: Command, tmp_path: Path) -> None:
    shutil.copytree(SEARCHING, "deep/search", ignore=shutil.ignore_patterns("train_dist"))
    expected = files(SEARCHING / "train_dist")
    assert command("deep/search/scripts/train.py", "-o", "one/")[0] == 0
    assert files(tmp_path / "one") == expected
    assert command("deep", "-o", "two/")[0] == 0
    assert files(tmp_path / "two") == {f"search/{place}": expected[place] for place in expected}
    os.chdir("deep/search")
    status, _, errors = command("scripts/train.py", "-o", "../search/")
    assert status == 2 and "is part of the project itself" in errors
    assert files(Path()) == {
        place: text for place, text in files(SEARCHING).items() if "dist" not in place
    }


def test_what_leads_elsewhere_in_another_folder_is_said(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "project/shapes/data.py"
    file.write_text("import os\n\nHERE = os.path.dirname(__file__)\n" + file.read_text())
    status, _, errors = command("project/train.py", "-o", "out/")
    assert status == 1
    assert "project/shapes/data.py:3:24: DT008 this path starts from the file's own" in errors
    assert "DT008" not in command("project/train.py", "--in-place")[2]


def test_modules_of_a_script_that_needs_nothing_are_copied(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "project/other.py").write_text("import shapes.models\nprint(shapes.models.MLP)\n")
    assert command("project/other.py", "-o", "out/")[0] == 0
    assert set(files(tmp_path / "out")) == {"other.py", "shapes/__init__.py", "shapes/models.py"}


def test_two_scripts_that_need_one_module_otherwise_are_told(
    command: Command, tmp_path: Path
) -> None:
    text = (tmp_path / "project/train.py").read_text()
    (tmp_path / "project/plain.py").write_text(
        text.replace(
            "            outputs = ", "            print(1)\n            outputs = "
        ).replace("best = save_checkpoint(model, epoch, val_acc, best)", "pass")
    )
    status, _, errors = command("project/train.py", "project/plain.py", "-o", "out/")
    assert status == 2 and "another script of this run needs otherwise" in errors
    assert "Convert each script into a folder of its own." in errors
    out = files(tmp_path / "out")
    assert out == files(PROJECT / "train_dist")


LATE = """\
import os
import sys

import mxnet as mx


def main():
    sys.path.append(os.path.join(os.path.dirname(__file__), "common"))
    from fit import fit

    data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((32, 3))), 8)
    fit(mx.gluon.nn.Dense(1), data)


main()
"""
FIT = """\
from mxnet import autograd, gluon


def fit(net, data):
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    loss_function = gluon.loss.L2Loss()
    for batch in data:
        with autograd.record():
            loss = loss_function(net(batch), batch)
        loss.backward()
        trainer.step(8)
"""


def test_a_folder_that_main_adds_to_the_search_path_holds_no_helpers(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "train.py").write_text(LATE, "utf-8")
    (tmp_path / "common/fit.py").write_text(FIT, "utf-8")
    out = tmp_path / "out"
    status, _, errors = command("train.py", "-o", "out/")
    assert status == 0, errors
    assert (out / "distributed_utils.py").is_file()
    assert {file.name for file in (out / "common").iterdir()} == {"fit.py"}
    for file in ("train.py", "common/fit.py"):
        assert "\nfrom distributed_utils import" in (out / file).read_text("utf-8")


OUTSIDE = """\
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, {folder})
from loop import fit

model = torch.nn.Linear(3, 1)
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), 8, shuffle=True)
fit(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
"""
LOOP = """\
import torch


def fit(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize("output", [("--in-place",), ("--check",), ("-o", "out/")])
def test_another_users_folder_is_refused(
    command: Command, tmp_path: Path, output: tuple[str, ...]
) -> None:
    mine, other = tmp_path / "home/me", tmp_path / "home/other/lib"
    mine.mkdir(parents=True)
    other.mkdir(parents=True)
    (other / "loop.py").write_text(LOOP)
    (mine / "train.py").write_text(OUTSIDE.format(folder=repr(str(other))))
    before = files(tmp_path)
    status, _, errors = command("home/me/train.py", *output)
    assert status == 3
    assert "home/other/lib/loop.py" in errors and "DT020" in errors
    assert files(tmp_path) == before


def test_a_folder_beside_is_the_projects_in_a_repository_alone(
    command: Command, tmp_path: Path
) -> None:
    scripts, beside = tmp_path / "whole/scripts", tmp_path / "whole/lib"
    scripts.mkdir(parents=True)
    beside.mkdir(parents=True)
    (beside / "loop.py").write_text(LOOP)
    folder = "os.path.join(os.path.dirname(__file__), '../lib')"
    (scripts / "train.py").write_text("import os\n" + OUTSIDE.format(folder=folder))
    before = files(tmp_path)
    assert command("whole/scripts/train.py", "-o", "out/")[0] == 0
    assert files(tmp_path / "out").keys() > {"scripts/train.py", "lib/loop.py"}
    shutil.rmtree(tmp_path / "out")
    status, _, errors = command("whole/scripts/train.py", "--in-place")
    assert status == 3
    assert "whole/lib/loop.py" in errors and "DT020" in errors
    assert files(tmp_path) == before
    (tmp_path / "whole/pyproject.toml").write_text("")
    assert command("whole/scripts/train.py", "--in-place")[0] == 0
    assert files(tmp_path)["whole/lib/loop.py"] != before["whole/lib/loop.py"]
