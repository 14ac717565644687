"""The hook that the project offers, run by the real pre-commit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from project_copy import copy_project

from transpile.cli import main

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

dataset = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
loader = DataLoader(dataset, batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()

for epoch in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
"""

CONFIG = """\
repos:
  - repo: {repository}
    rev: v0.1.0
    hooks:
      - id: disttranspile-check
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Settings of their own for git and pre-commit, whatever those of the user are."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "HOME": str(tmp_path),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@test.example",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@test.example",
    }


def run(
    words: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )


def commit(folder: Path, environment: Mapping[str, str]) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "State"]):
        done = run(["git", *words], folder, environment)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_hook_stops_a_script_until_it_is_converted(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    copy_project(tool)
    commit(tool, environment)
    run(["git", "tag", "v0.1.0"], tool, environment)

    user = tmp_path / "user"
    user.mkdir()
    (user / ".pre-commit-config.yaml").write_text(CONFIG.format(repository=tool))
    (user / "train.py").write_text(SCRIPT)
    (user / "idle.py").write_text("print('no training')\n")
    (user / "notes.txt").write_text(SCRIPT)
    commit(user, environment)
    hook = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"]

    stopped = run(hook, user, environment)
    assert stopped.returncode == 1, stopped.stdout
    assert "disttranspile --check" in stopped.stdout
    assert "Failed" in stopped.stdout
    assert "- exit code: 1" in stopped.stdout
    assert "1 would be converted, 1 unchanged" in stopped.stdout
    assert "notes.txt" not in stopped.stdout
    assert (user / "train.py").read_text() == SCRIPT

    assert main([str(user / "train.py"), "--in-place"]) == 0
    commit(user, environment)
    passed = run(hook, user, environment)
    assert passed.returncode == 0, passed.stdout
    assert "Passed" in passed.stdout
