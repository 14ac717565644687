"""Parameters that have a row for each place in a batch."""

from __future__ import annotations

import pytest

from transpile import Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
SIZE = 16
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
loader = DataLoader(data, batch_size=SIZE)


class Net(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.layer = nn.Linear(8, 2)
        self.offset = {made}

    def forward(self, x):
        return self.layer(x) + self.offset


net = Net(SIZE)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    "made",
    [
        "nn.Parameter(torch.zeros(SIZE, 2))",
        "nn.Parameter(torch.zeros(rows, 2))",
        "torch.nn.Parameter(torch.randn((SIZE, 2)) * 0.1)",
    ],
)
def test_they_are_refused(made: str) -> None:
    result = convert(SCRIPT.format(made=made), path="train.py")
    assert result.outcome is Outcome.REFUSED
    assert "PT238" in [one.code for one in result.findings]


@pytest.mark.parametrize(
    "made", ["nn.Parameter(torch.zeros(1, 2))", "nn.Parameter(torch.zeros(2))"]
)
def test_others_are_not(made: str) -> None:
    result = convert(SCRIPT.format(made=made), path="train.py")
    assert result.outcome is Outcome.CONVERTED
