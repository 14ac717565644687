"""Models whose layers are called one by one, by their places, and whose gradients are read."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
loader = DataLoader(TensorDataset(torch.randn(64, 6), torch.ones(64).long()), batch_size=16)
for x, y in loader:
    loss = F.cross_entropy(net[2](net[1](net[0](x))), y)
    optimizer.zero_grad()
    {end}
"""
READ = "print(net[0].weight.grad.norm().item())"
BACK = "loss.backward()\n    "
STEP = "optimizer.step()\n    "
AGAIN = "net[2](net[1](net[0](x))).sum().backward()"


@pytest.mark.parametrize(
    "end",
    [
        BACK + STEP + READ,
        BACK + READ + "\n    " + STEP,
        BACK + "optimizer.step(); " + READ,
        BACK + STEP + f"if y.size(0) > 1:\n        {READ}",
    ],
)
def test_gradients_are_read_where_they_are_those_of_all(end: str) -> None:
    result = convert(SCRIPT.format(end=end))
    assert result.outcome is Outcome.CONVERTED, result.findings
    before_read = result.text.partition(READ)[0]
    assert "average_gradients(optimizer)" in before_read.rpartition("loss.backward()")[2]


@pytest.mark.parametrize(
    "end",
    [
        BACK + STEP + AGAIN + "\n    " + READ,
        BACK + f"optimizer.step(); {AGAIN}; {READ}",
        BACK + STEP + f"def look():\n        {READ}\n    {AGAIN}\n    look()",
        BACK + f"if y.size(0) > 1:\n        optimizer.step()\n    {READ}",
    ],
)
def test_gradients_that_are_read_elsewhere_are_told_with_true_words(end: str) -> None:
    result = convert(SCRIPT.format(end=end))
    (refused,) = [one for one in result.findings if one.code == "PT325"]
    assert "layers of a model that is not called itself" in refused.message
