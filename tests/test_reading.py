"""What is no regular file, or has no end, is never waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from transpile.reading import UnsuitableFile, read_regular, read_text

TRAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

from layers import make

model = make()
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
LAYERS = """\
import torch


def make():
    model = torch.nn.Linear(3, 1)
    torch.save(model.state_dict(), "start.pt")
    return model
"""


def test_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\r\ny")
    (tmp_path / "link").symlink_to("a")
    assert read_regular(tmp_path / "link") == b"x\r\ny"
    assert read_text(tmp_path / "a") == "x\ny"
    assert read_regular(tmp_path / "a", 4) == b"x\r\ny"


def test_other_files_are_not(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"12345")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        for name, reason in (
            ("pipe", "is a named pipe"),
            ("zeros", "is a device"),
            ("socket", "is a socket"),
            (".", "is a folder"),
            ("large", "is larger than 0 MiB"),
        ):
            with pytest.raises(UnsuitableFile) as caught:
                read_regular(tmp_path / name, 4)
            assert caught.value.strerror == reason
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "missing")


NAMES = (
    "other.py", "model.py", "requirements.txt", "pyproject.toml", "distributed_utils.py",
    "helpers/__init__.py", "environment.yml",
)  # fmt: skip


@pytest.mark.parametrize(("kind", "arguments"), [("pipe", ["."]), ("zeros", ["train.py"])])
def test_a_conversion_waits_for_none(tmp_path: Path, kind: str, arguments: list[str]) -> None:
    (tmp_path / "train.py").write_text(f"import model\nimport helpers\n{TRAIN}")
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "helpers").mkdir()
    for name in NAMES:
        if kind == "pipe":
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to("/dev/zero")
    command = [sys.executable, "-m", "transpile", *arguments, "--check"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert run.returncode == 1
    assert "internal error" not in run.stderr


@pytest.mark.parametrize("kind", ["pipe", "zeros"])
def test_numbers_wait_for_no_settings_file(tmp_path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(tmp_path / "cfg.yaml")
    else:
        (tmp_path / "cfg.yaml").symlink_to("/dev/zero")
    (tmp_path / "layers.py").write_text(LAYERS)
    config = "import yaml\nconfig = yaml.safe_load(open('cfg.yaml'))\n"
    text = TRAIN.replace("batch_size=8", "batch_size=config['batch']")
    (tmp_path / "train.py").write_text(config + text)
    command = [sys.executable, "-m", "transpile", "train.py", "--explain-numbers", "2", "--check"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert "internal error" not in run.stderr
