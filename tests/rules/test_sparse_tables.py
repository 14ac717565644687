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
        return {used}


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
    layers = f"self.tables = nn.ModuleList([{made}])"
    text = SCRIPT.format(made=layers, used="sum(table(u) for table in self.tables)")
    found = convert(text, Options(shard="data")).findings
    assert ("PT420" in [each.code for each in found]) == told


ONCE = "F.embedding(u, self.a, sparse=True)"


@pytest.mark.parametrize(
    ("used", "told"),
    [
        (f"{ONCE} + F.embedding(u, self.b, sparse=True)", True),
        (f"{ONCE} + F.embedding(u, self.b, None, None, 2.0, False, True)", True),
        (f"{ONCE} + F.embedding_bag(u[:, None], self.b, mode='sum', sparse=True)", True),
        ("sum(F.embedding(u, t, sparse=True) for t in (self.a, self.b))", True),
        (ONCE, False),
        (f"{ONCE} + {ONCE}", False),
        (f"{ONCE} + F.embedding(u, self.b)", False),
    ],
)
def test_look_ups_in_several_tables_are_warned_of(used: str, told: bool) -> None:
    made = "self.a, self.b = (nn.Parameter(torch.randn(8, 1)) for _ in range(2))"
    text = "import torch.nn.functional as F\n" + SCRIPT.format(made=made, used=used)
    found = convert(text, Options(shard="data")).findings
    assert ("PT420" in [each.code for each in found]) == told
