"""How many outputs a model gives is no number of samples."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(6, 2) for _ in range(3))

    def forward(self, x):
{forward}


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 6)
for xb, yb in DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16):
    outs = net(xb)
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FORWARDS = {
    "list": "        return [head(x) for head in self.heads]",
    "appended": """\
        outs = []
        for head in self.heads:
            outs.append(head(x))
        return outs""",
    "dict": "        return {k: head(x) for k, head in enumerate(self.heads)}",
}
SUM = "sum(F.cross_entropy(o, yb) for o in {outs}) / len(outs)"


@pytest.mark.parametrize("forward", FORWARDS)
def test_outputs_are_counted_as_they_are(forward: str) -> None:
    """The mean over the heads is the mean over the batch as long as each head's loss is one."""
    loss = SUM.format(outs="outs.values()" if forward == "dict" else "outs")
    found = convert(SCRIPT.format(forward=FORWARDS[forward], loss=loss))
    assert found.outcome is Outcome.CONVERTED, found.findings
    assert "get_world_size()).backward()" not in found.text
    assert "loss.backward()" in found.text


def test_samples_are_counted_as_before() -> None:
    forward = "        return self.heads[0](x)"
    loss = "F.cross_entropy(outs, yb, reduction='sum') / len(outs)"
    found = convert(SCRIPT.format(forward=forward, loss=loss))
    assert found.outcome is Outcome.CONVERTED, found.findings
    assert "loss.backward()" in found.text
