"""Sparse gradients of several tables may lie in one memory, and be averaged twice there."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
users = torch.arange(32) // 4
loader = DataLoader(TensorDataset(users, torch.randn(32)), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {made}

    def forward(self, u):
        return sum(table(u) for table in self.tables)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for u, r in loader:
    optimizer.zero_grad()
    (net(u)[:, 0] - r).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("nn.Embedding(8, 1, sparse=True), nn.Embedding(8, 1, sparse=True)", True),
        ("*[nn.Embedding(8, 1, sparse=True) for _ in range(2)]", True),
        ("*[nn.Embedding(8, 1, None, None, 2.0, False, True) for _ in range(2)]", True),
        ("nn.Embedding(8, 1, sparse=True), nn.Embedding(8, 1)", False),
        ("nn.Embedding(8, 1, sparse=False), nn.Embedding(8, 1)", False),
    ],
)
def test_several_tables_with_sparse_gradients_are_warned_of(made: str, told: bool) -> None:
    text = SCRIPT.format(made=f"self.tables = nn.ModuleList([{made}])")
    found = convert(text, Options(shard="data")).findings
    assert ("PT420" in [each.code for each in found]) == told
