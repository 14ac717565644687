"""Where helpers go: into the script, or into a module that the scripts of a folder share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from transpile.helpers.text import DOCSTRING, read_helpers

TRAINING = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), batch_size=4)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
SAYING = f"{TRAINING}print('done')\n"
MODULE = "distributed_utils.py"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(TRAINING)
    Path("b.py").write_text(SAYING)


def run(*words: str) -> Any:
    from click.testing import CliRunner

    from transpile.cli.commands.convert import command

    return CliRunner().invoke(command, ["-q", *words], standalone_mode=False)


def names(path: str = MODULE) -> set[str]:
    found = read_helpers(Path(path).read_text())
    assert found is not None
    return set(found.blocks)


def test_a_single_output_holds_its_helpers() -> None:
    assert run("a.py", "-o", "out.py").return_value == 0
    assert not os.path.exists(MODULE)
    assert "def setup_distributed(" in Path("out.py").read_text()
    assert "def setup_distributed(" in run("a.py").output


def test_scripts_in_place_share_their_helpers() -> None:
    assert run("a.py", "--in-place").return_value == 0
    first = names()
    assert "print_once" not in first
    assert run("b.py", "--in-place").return_value == 0
    assert names() == first | {"print_once", "get_rank"}
    assert not any("def " in Path(name).read_text() for name in ("a.py", "b.py"))
    once = Path(MODULE).read_bytes()
    assert run("a.py", "b.py", "--in-place").return_value == 0
    assert Path(MODULE).read_bytes() == once
    Path("a.py").write_text(TRAINING)
    assert run("a.py", "--in-place").return_value == 0
    assert Path(MODULE).read_bytes() == once


@pytest.mark.parametrize("one_run", [True, False])
def test_scripts_in_a_folder_share_the_same_bytes(one_run: bool) -> None:
    for words in (["a.py", "b.py"],) if one_run else (["b.py"], ["a.py"]):
        assert run(*words, "-o", "out/").return_value == 0
    assert sorted(os.listdir("out")) == ["a.py", "b.py", MODULE]
    assert run("a.py", "b.py", "--in-place").return_value == 0
    assert Path(MODULE).read_bytes() == Path("out", MODULE).read_bytes()


def test_what_helpers_do_at_once_stays_with_them() -> None:
    fixtures = Path(__file__).resolve().parents[2] / "fixtures" / "mxnet"
    for name in ("gluon_mlp", "gluon_numbers"):
        shutil.copy(fixtures / name / "train.py", f"{name}.py")
    for order in (("gluon_mlp", "gluon_numbers"), ("gluon_numbers", "gluon_mlp")):
        for name in order:
            assert run(f"{name}.py", "-o", f"{order[0]}/", "--helpers", "module").return_value == 0
    first, second = (Path(name, MODULE).read_text() for name in ("gluon_mlp", "gluon_numbers"))
    assert first == second
    assert first.index("def create_store") < first.index("\nstore = create_store()\n")
    assert first.count("\nshare_random_state()\n") == 1


def test_one_file_with_a_module_beside_it_runs() -> None:
    Path("new").mkdir()
    assert run("b.py", "-o", "new/out.py", "--helpers", "module").return_value == 0
    assert "print_once" in names(f"new/{MODULE}")
    done = subprocess.run(
        [sys.executable, "new/out.py"], capture_output=True, text=True, timeout=200, check=True
    )
    assert done.stdout == "done\n"


def test_a_module_that_somebody_else_wrote_is_left_alone() -> None:
    Path(MODULE).write_text("x = 1\n")
    assert run("a.py", "--in-place").return_value == 0
    assert Path(MODULE).read_text() == "x = 1\n"
    assert "from distributed_utils_2 import" in Path("a.py").read_text()
    Path(MODULE).unlink()
    Path("out").mkdir()
    Path("out", MODULE).write_text(f'"""{DOCSTRING}"""\n\nmine = 1\n')
    for force in ([], ["--force"]):
        done = run("b.py", "-o", "out/", *force)
        assert (done.return_value, "--helpers inline" in done.output) == (2, True)
        assert os.listdir("out") == [MODULE]
    assert run("b.py", "-o", "out/", "--helpers", "inline").return_value == 0


def test_standard_output_has_no_place_for_a_module() -> None:
    assert run("a.py", "--helpers", "module").return_value == 2
