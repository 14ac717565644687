"""Runs that end after some steps: all ranks at the same one, and judged by what they did."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transpile.verify import Auditor, format_report
from transpile.verify.page import page_of
from transpile.verify.report import AuditReport, Status

TRAINING = """\
import atexit
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

atexit.register(lambda: open("ended", "w").close())
torch.manual_seed(0)
dataset = TensorDataset(torch.randn(4096, 4), torch.randn(4096, 1))
loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=WORKERS)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for epoch in range(10_000):
        for step, (inputs, targets) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            if step % 2 == 0:
                print("step", step)
        torch.save(model.state_dict(), "model.pt")
finally:
    torch.save(model.state_dict(), "last.pt")
"""


def checks_of(report: AuditReport, run: int) -> dict[str, Status]:
    return {check.name: check.status for check in report.runs[run].checks}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_all_ranks_end_after_the_same_step(
    auditor: Auditor, command: Callable[..., Any], workers: int
) -> None:
    Path("train.py").write_text(TRAINING.replace("WORKERS", str(workers)))
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    report = auditor.audit(Path("train.py"), Path("train_dist.py"), steps=5, double=True)
    assert report.passed, report
    assert [each.name for run in report.runs for each in run.checks if not each.detail] == []
    assert report.extent.startswith("Every run was ended after 5 optimizer steps")
    for text in (format_report(report), page_of(report, "train.py")):
        assert text.count(report.extent) == 1
    for run in report.seen:
        for rank in run.ranks:
            (optimizer,) = rank.optimizers
            assert optimizer.steps == 5
            assert sum(len(batch) for batch in rank.training[0].batches) * len(run.ranks) == 40
            assert ("step 2" in rank.output) == (rank.rank == 0)
            assert "step 4" not in rank.output
        assert not {"ended", "last.pt", "model.pt"} & run.files
    found = checks_of(report, 2)
    for name in ("parameters equal on all ranks", "training shards disjoint", "optimizer steps"):
        assert found[name] is Status.PASSED, name


@pytest.mark.slow
def test_what_is_wrong_shows_in_the_first_steps(
    auditor: Auditor, command: Callable[..., Any]
) -> None:
    Path("train.py").write_text(TRAINING.replace("WORKERS", "0"))
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    text = Path("train_dist.py").read_text()
    assert "model = DistributedDataParallel(model)" in text
    Path("train_dist.py").write_text(text.replace("DistributedDataParallel(model)", "model"))
    report = auditor.audit(
        Path("train.py"), Path("train_dist.py"), steps=3, world_sizes=(2,), double=True
    )
    assert checks_of(report, 1)["parameters equal on all ranks"] is Status.FAILED


@pytest.mark.slow
def test_a_rank_that_comes_short_is_not_waited_for_for_ever(
    auditor: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = (
        TRAINING.replace("WORKERS", "0")
        .replace(
            "        for step,",
            "        if epoch == 1 and os.environ.get('RANK') == '1':\n"
            "            raise SystemExit\n        for step,",
        )
        .replace("4096", "16")
        .replace("import atexit", "import atexit\nimport os")
    )
    Path("train.py").write_text(TRAINING.replace("WORKERS", "0").replace("4096", "16"))
    Path("short.py").write_text(short)
    report = auditor.audit(
        Path("train.py"), Path("short.py"), steps=3, world_sizes=(2,), timeout_seconds=100
    )
    assert checks_of(report, 1)["optimizer steps"] is Status.FAILED


@pytest.mark.slow
def test_the_command_says_where_it_ended(command: Callable[..., Any]) -> None:
    Path("train.py").write_text(TRAINING.replace("WORKERS", "0"))
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    words = ("verify", "train.py", "train_dist.py", "--steps", "2", "--output-format", "json")
    run = command(*words)
    assert run.status == 0, run.errors
    assert json.loads(run.output)["steps"] == 2
