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
      - id: disttranspile-sync
      - id: disttranspile-audit
"""
WRONG = (Path(__file__).parents[1] / "fixtures/audit/crossed_collectives/wrong.py").read_text()


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
def test_the_hooks_know_the_workflow_of_the_readme(
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

    def hooks(name: str = "") -> subprocess.CompletedProcess[str]:
        words = ["pre_commit", "run", *([name] if name else []), "--all-files", "--color", "never"]
        return run([sys.executable, "-m", *words], user, environment)

    stopped = hooks()
    assert stopped.returncode == 1, stopped.stdout
    assert "disttranspile --check" in stopped.stdout
    assert "- exit code: 1" in stopped.stdout
    assert "train.py: would be converted" in stopped.stdout
    assert "notes.txt" not in stopped.stdout
    assert (user / "train.py").read_text() == SCRIPT

    # Once the output stands beside the script, there is nothing left to do.
    converted = user / "train_dist.py"
    assert main([str(user / "train.py"), "-o", str(converted)]) == 0
    commit(user, environment)
    passed = hooks()
    assert passed.returncode == 0, passed.stdout
    assert passed.stdout.count("Passed") == 3

    # A pair of the configuration is written anew where the script changes.
    (user / "disttranspile.toml").write_text(
        '[[script]]\nsource = "train.py"\noutput = "train_dist.py"\n'
    )
    assert hooks("disttranspile-sync").returncode == 1, "disttranspile.lock is new"
    commit(user, environment)
    assert hooks().returncode == 0
    (user / "train.py").write_text(f"# Later.\n{SCRIPT}")
    synced = hooks("disttranspile-sync")
    assert synced.returncode == 1
    assert "files were modified by this hook" in synced.stdout
    assert "train_dist.py: written, as it was older than train.py" in synced.stdout
    commit(user, environment)
    assert hooks().returncode == 0
    converted.write_text(f"{converted.read_text()}# By hand.\n")
    edited = hooks("disttranspile-sync")
    assert edited.returncode == 1
    assert "train_dist.py: was edited by hand" in edited.stdout
    assert converted.read_text().endswith("# By hand.\n")

    (user / "hangs.py").write_text(WRONG)
    commit(user, environment)
    audited = hooks("disttranspile-audit")
    assert audited.returncode == 1
    assert "AU105" in audited.stdout
    assert "train_dist.py" not in audited.stdout
