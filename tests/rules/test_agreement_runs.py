"""Ranks whose numbers differ train on together once the script is converted."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile.verify import Auditor, format_report

#: Each process measures something else, by more than its last bits.
SCRIPT = """\
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(24, 3)
inputs[5] = float({broken!r})
loader = DataLoader(TensorDataset(inputs, torch.randn(24, 1)), batch_size=4)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
rank = int(os.environ.get("RANK", 0))
best, bad, kept = float("inf"), 0, None

for epoch in range(6):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        {check}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        value = nn.functional.mse_loss(model(torch.ones(2, 3)), torch.ones(2, 1)).item()
    value = value * (1 + rank * epoch)
    {decision}
{end}
torch.save(model.state_dict(), "model.pt")
"""
PATIENCE = """if value < best:
        best, bad = value, 0
    else:
        bad += 1
        if bad > 1:
            break"""
KEEPING = """if value < best:
        best = value
        kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}"""
LOADING = """model.load_state_dict(kept)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("decision", "check", "broken", "end"),
    [
        (PATIENCE, "pass", "0", ""),
        ("scheduler.step(value)", "pass", "0", ""),
        (KEEPING, "pass", "0", LOADING),
        ("pass", "if torch.isnan(loss):\n            continue", "nan", ""),
        ("pass", "if not torch.isfinite(loss):\n            break", "inf", ""),
    ],
    ids=["patience", "plateau", "best weights", "skipped batch", "broken off epoch"],
)
def test_ranks_stay_together(
    auditor: Auditor, tmp_path: Path, decision: str, check: str, broken: str, end: str
) -> None:
    source = SCRIPT.format(decision=decision, check=check, broken=broken, end=end)
    result = convert(source.encode(), Options(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, result.findings
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source, "utf-8")
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), length_may_differ=True, timeout_seconds=60
    )
    assert report.passed, format_report(report)


def test_without_agreement_the_ranks_part(auditor: Auditor, tmp_path: Path) -> None:
    source = SCRIPT.format(decision=PATIENCE, check="pass", broken="0", end="")
    text = convert(source.encode(), Options(), path="train.py").text
    assert text.count("from_main_process(value < best)") == 1
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source, "utf-8")
    output.write_text(text.replace("from_main_process(value < best)", "value < best"), "utf-8")
    report = auditor.audit(
        original, output, world_sizes=(2,), length_may_differ=True, timeout_seconds=15
    )
    assert not report.passed
