"""Calls that are given sparse tensors are compared over the ranks as others are."""

from __future__ import annotations

from pathlib import Path

from ranks import run_ranks

from transpile import Options, convert

SCRIPT = """\
import torch
from torch import nn
from library import Layer


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()
        self.out = nn.Linear(5, 3)

    def forward(self, x, table):
        return self.out(self.layer(x)) + table.to_dense().sum()


torch.manual_seed(0)
x, y = torch.rand(16, 12), torch.randint(0, 3, (16,))
table = torch.eye(7).to_sparse()
model = Bag()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in range(0, 16, 4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[start : start + 4], table), y[start : start + 4])
    loss.backward()
    optimizer.step()
print(loss.item())
"""
LAYER = """\
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(12, 5)

    def forward(self, x):
        return torch.relu(self.inner(x))
"""


def test_sparse_tensors_are_compared(tmp_path: Path) -> None:
    result = convert(SCRIPT, Options(shard="calls"))
    output = tmp_path / "train_dist.py"
    output.write_bytes(result.data)
    (tmp_path / "library.py").write_text(LAYER, "utf-8")
    ended = run_ranks(output, 2)
    assert all(one.status == 0 for one in ended), ended[0].errors + ended[1].errors
    alone = run_ranks(output, 1)
    assert ended[0].output == alone[0].output
