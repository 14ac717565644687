"""Gradients that are kept beside counts of samples."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.randn(64, 6)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
start = [p.detach().clone() for p in model.parameters()]
kept = [torch.zeros_like(p) for p in model.parameters()]
for a, b in loader:
    model.zero_grad()
    F.cross_entropy(model(a), b).backward()
    {keep}
for a, b in loader:
    penalty = sum((k * (p - s) ** 2).sum() for k, p, s in zip(kept, model.parameters(), start))
    loss = F.cross_entropy(model(a), b) + 50 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(penalty.item())
torch.save(model.state_dict(), "model.pt")
"""
KEEPS = (
    "for k, p in zip(kept, model.parameters()):\n        k += p.grad**2 * len(a) / len(x)",
    "for k, p in zip(kept, model.parameters()):\n        k += p.grad.pow(2) * (a.size(0) / 64)",
    "for k, p in zip(kept, model.parameters()):\n        k += p.grad**2 / len(loader)",
)


@pytest.mark.parametrize("keep", KEEPS)
def test_they_are_those_of_one_process(keep: str, tmp_path: Path, auditor: Auditor) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT.format(keep=keep), "utf-8")
    result = convert(original.read_text("utf-8"))
    assert {one.code for one in result.findings} <= {"PT322"}
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), tolerance=1e-9, printed_numbers=True
    )
    assert report.passed, format_report(report)
