"""Passes over loaders that a comprehension begins, into which no statement can be written."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 3), torch.randn(32, 1))
loaders = [DataLoader(data, batch_size=8, shuffle={shuffle}) for _ in range(2)]


def robin(loaders):
    its = {its}
    for _ in range(4):
        for it in its:
            yield next(it)


net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in robin(loaders):
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        optimizer.step()
"""
EPOCHS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 3), torch.randn(32, 1))
loader = DataLoader(data, batch_size=8, shuffle=True)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(epoch):
    for x, y in loader:
        optimizer.zero_grad()
        (net(x) - y).pow(2).mean().backward()
        optimizer.step()


[train(epoch) for epoch in range(3)]
"""


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(
    "its", ["[iter(l) for l in loaders]", "{i: iter(l) for i, l in enumerate(loaders)}.values()"]
)
def test_iterators_in_a_comprehension(its: str, shuffle: bool) -> None:
    codes = {f.code for f in convert(SCRIPT.format(its=its, shuffle=shuffle)).findings}
    assert "DT904" not in codes
    assert ("PT212" in codes) is shuffle


def test_epochs_in_a_comprehension() -> None:
    result = convert(EPOCHS)
    assert not [finding for finding in result.findings if finding.code.startswith("DT904")]
    assert "loader.sampler.set_epoch(loader.sampler.epoch + 1)\n    for x, y" in result.text
