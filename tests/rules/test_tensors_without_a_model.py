"""Tensors that an optimizer holds without a model train with several processes as with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import Level, Outcome, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, kind = torch.randn(36, 5), torch.randint(0, 3, (36,))
y = x @ torch.randn(5, 1) + 0.1
loader = DataLoader(TensorDataset(x, y, kind), batch_size=12)
{made}
for epoch in range(2):
    for x, y, kind in loader:
        {loss}
        optimizer.zero_grad()
        loss.backward()
        {step}optimizer.step()
        print(loss.item())
torch.save({kept}, "model.pt")
"""
REGRESSION = """\
w = torch.randn(5, 1, requires_grad=True)
b = torch.zeros(1).requires_grad_()
optimizer = torch.optim.Adam([w, b], lr=0.1)
"""
SUMMED = "loss = ((x @ w + b - y) ** 2).sum() + 0.1 * w.pow(2).sum()"
FUNCTIONS = """\
def parameters():
    first = torch.randn(5, 8) * 0.1
    first.requires_grad_()
    return [first, torch.zeros(8, requires_grad=True), nn.Parameter(torch.randn(8, 1))]


def net(x, parameters):
    first, bias, last = parameters
    return torch.relu(x @ first + bias) @ last


weights = parameters()
optimizer = torch.optim.SGD(weights, lr=0.1)
"""
TASKS = """\
model = nn.Linear(5, 4)
spread, share = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
learned = [*model.parameters()] + [spread, share]
optimizer = torch.optim.Adam(learned, lr=0.05)
"""
WEIGHED = (
    "loss = torch.exp(-spread) * F.mse_loss(model(x)[:, :1], y) + spread + share + "
    "torch.exp(-share) * F.cross_entropy(model(x)[:, 1:], kind)"
)


@pytest.mark.parametrize(
    ("made", "loss", "kept", "step"),
    [
        (REGRESSION, "loss = F.mse_loss(x @ w + b, y)", "[w, b]", ""),
        (REGRESSION, SUMMED, "[w, b]", ""),
        (FUNCTIONS, "loss = F.mse_loss(net(x, weights), y)", "weights", ""),
        (TASKS, WEIGHED, "learned", "nn.utils.clip_grad_norm_(learned, 0.5)\n        "),
    ],
    ids=["mean", "sum", "functions", "beside a model"],
)
def test_their_gradients_are_averaged(
    made: str, loss: str, kept: str, step: str, tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    text = SCRIPT.format(made=made, loss=loss, kept=kept, step=step)
    original.write_text(text, "utf-8")
    result = convert(text, path="train.py")
    assert result.outcome is Outcome.CONVERTED and "average_gradients(optimizer)" in result.text
    assert all(one.level is Level.NOTE for one in result.findings)
    output.write_text(result.text, "utf-8")
    report = auditor.audit(
        original, output, world_sizes=(1, 2, 3), tolerance=1e-5, timeout_seconds=90
    )
    assert report.passed, format_report(report)


@pytest.mark.parametrize("made", ["torch.zeros_like(x)", "torch.zeros(12, 5)"])
def test_what_belongs_to_one_batch_is_refused(made: str) -> None:
    """Each process would have to learn its own rows."""
    text = SCRIPT.format(
        made="model = nn.Linear(5, 1)",
        loss=f"d = {made}.requires_grad_()\n        optimizer = torch.optim.SGD([d], lr=0.1)\n"
        "        loss = F.mse_loss(model(x + d), y)",
        kept="model.state_dict()",
        step="",
    )
    assert "PT325" in {one.code for one in convert(text, path="train.py").findings}
