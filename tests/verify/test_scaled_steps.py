"""Steps that a scaler skips, as gradients overflow in half precision."""

from __future__ import annotations

from pathlib import Path

from transpile import convert
from transpile.verify import Auditor, format_report

SCALED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for turn, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def test_steps_that_are_skipped_count(auditor: Auditor, tmp_path: Path) -> None:
    """Which ones overflow is chance; that all ranks skip the same is not."""
    script, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    script.write_text(SCALED)
    text = convert(SCALED, path="train.py").text
    overflowing = 'scale(loss * (float("inf") if turn == 3 and get_world_size() > 1 else 1))'
    output.write_text(text.replace("scale(loss)", overflowing))
    report = auditor.audit(script, output, world_sizes=(1, 2))
    assert report.passed, format_report(report)
    (steps,) = [check for check in report.runs[-1].checks if check.name == "optimizer steps"]
    assert steps.detail == "8"
