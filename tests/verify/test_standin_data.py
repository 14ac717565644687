"""The stand-in files are read by torchvision's own data sets."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transpile.verify.evidence import Touch
from transpile.verify.launcher import Launcher

STANDIN = Path(__file__).parents[1] / "standin"
SCRIPT = Path(__file__).parent / "scripts" / "pictures.py"


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="no torchvision")
def test_every_data_set_reads_its_stand_in(tmp_path: Path) -> None:
    work = tmp_path / "job" / "work"
    work.mkdir(parents=True)
    command = [sys.executable, str(STANDIN / "make_data.py"), "image-folder", "pictures"]
    subprocess.run(command, cwd=work, check=True, timeout=60)
    with Launcher(site=STANDIN) as launcher:
        run = launcher.run(
            SCRIPT,
            (),
            world_size=0,
            working_directory=work,
            evidence=tmp_path / "evidence",
            folders={tmp_path / "job": ""},
            timeout_seconds=100,
        )
    assert run.finished, run.first.errors
    assert run.first.output.splitlines() == [
        "MNIST 96 48 (1, 28, 28) 7 10",
        "FashionMNIST 96 48 (1, 28, 28) 7 10",
        "CIFAR10 96 48 (3, 32, 32) 7 10",
        "CIFAR100 96 48 (3, 32, 32) 7 100",
        "ImageFolder 96 (3, 64, 64) ['class_0', 'class_1']",
    ]
    written = {write.path for write in run.first.writes if write.touch is Touch.FILE}
    assert "../data/MNIST/raw/train-images-idx3-ubyte" in written
    assert len(written) == 4 + 4 + 7 + 3


def test_python_does_not_import_torch_because_of_the_stand_ins() -> None:
    code = "import sys; assert 'sitecustomize' in sys.modules; print('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(STANDIN)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "False\n", done.stderr
