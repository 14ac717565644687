"""What stands where a run does not expect it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from transpile import Outcome, convert
from transpile.launch.job import Job
from transpile.project import Project
from transpile.text.places import locate
from transpile.text.source import read_source

TRAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

from steps import step

model = torch.nn.Linear(3, 1)
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = torch.nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    step(i, optimizer)
"""
STEPS = """\
def step(i, optimizer):
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_step_may_be_counted_in_another_module(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "steps.py").write_text(STEPS)
    result = convert(TRAIN, folder=tmp_path)
    assert result.outcome is Outcome.CONVERTED


def test_a_user_may_have_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    (tmp_path / "lib").mkdir()
    text = "import sys\nsys.path.append('lib')\n"
    project = Project(read_source(text.encode(), "train.py"), tmp_path)
    assert (tmp_path / "lib").resolve() in project.roots


def test_a_tree_that_is_too_deep_is_named_by_its_own_error() -> None:
    import libcst as cst

    tree = cst.parse_module("if a:\n    pass\n")
    branch = cst.ensure_type(tree.body[0], cst.If)
    for _ in range(500):
        branch = branch.with_changes(body=cst.IndentedBlock([branch]))
    deep = tree.with_changes(body=[branch])
    with pytest.raises(RecursionError):
        locate(deep, "", "")


@pytest.mark.parametrize("name", ["transpile/none.txt", "transpile/__init__.py", "click.py"])
def test_the_folder_of_the_run_hides_no_module(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    (tmp_path / "x.py").write_text("print(1)\n")
    command = [sys.executable, "-m", "transpile", "--check", "x.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr


def test_a_job_has_no_more_machines_than_a_cluster() -> None:
    with pytest.raises(ValueError, match="at most"):
        Job("train.py", ("python",), nodes=100_000_000)
    with pytest.raises(ValueError, match="cannot be an image"):
        Job("train.py", ("python",), image="a\tb")
