"""Decisions on numbers that a conversion has taken over all processes are not decided again."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Options

HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
best, history = 1e9, []
for epoch in range(9):
    losses, total = [], 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "rest",
    [
        "        if loss.item() < 1e-3:\n            break\n",
        "        total += loss.item()\n    plateau.step(total / len(loader))\n"
        "    if total < best:\n        best = total\n        torch.save(model, 'best.pt')\n",
        "        losses.append(loss.item())\n    history.append(np.mean(losses))\n"
        "    if history[-1] < 0.1:\n        break\n",
    ],
)
def test_a_second_conversion_finds_decisions_made(rest: str) -> None:
    first = convert(HEAD + rest)
    again = convert(first.text, Options(respect_distributed=False))
    assert again.text == first.text
    assert all(finding.level is not Level.ERROR for finding in again.findings)
    assert not {f.code for f in again.findings} - {f.code for f in first.findings}
