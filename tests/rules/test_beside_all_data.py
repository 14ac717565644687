"""Samples that are collected over batches, and laid beside all of the data."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options
from transpile import convert as convert_by
from transpile.finding import Level

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
for epoch in range(2):
    kept, told = [], []
    for a, b in loader:
        out = model(a)
        loss = F.cross_entropy(out, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(out.argmax(1))
        told.append(b)
    found = torch.cat(kept)
    print(epoch, {shown})
torch.save(model.state_dict(), "model.pt")
"""
PAIRED = (
    "(found == y).sum().item()",
    "(found == y[: len(found)]).sum().item()",
    "found.eq(y.to(torch.long)).sum().item() / len(y)",
    "(found - y[:64]).abs().sum().item()",
)


@pytest.mark.parametrize("shown", PAIRED)
def test_they_are_told(shown: str) -> None:
    found = convert(SCRIPT.format(shown=shown)).findings
    assert any(one.code == "PT603" and one.level is Level.WARNING for one in found)


@pytest.mark.parametrize("shown", PAIRED)
def test_their_calls_are_split(shown: str) -> None:
    result = convert_by(SCRIPT.format(shown=shown), Options())
    assert [one.code for one in result.findings] == ["DT015"]


def test_what_was_collected_beside_them_is_no_data() -> None:
    shown = "(found == torch.cat(told)).sum().item() / len(y)"
    assert not convert(SCRIPT.format(shown=shown)).findings
