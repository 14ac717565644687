"""Models that a script sets from another one: targets, teachers and averages learn nothing."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x):
        return self.layer(x)


torch.manual_seed(0)
online = Net()
target = Net()
optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
data = TensorDataset(torch.randn(60, 6))
loader = DataLoader(data, batch_size=12, shuffle=True)
for (x,) in loader:
    with torch.no_grad():
        aim = target(x)
    loss = (online(x) - aim).pow(2).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for q, k in zip(online.parameters(), target.parameters()):
            {update}
torch.save(target.state_dict(), "target.pt")
"""
DETACHED = SCRIPT.replace(
    "    with torch.no_grad():\n        aim = target(x)", "    aim = target(x).detach()"
)


@pytest.mark.parametrize("source", [SCRIPT, DETACHED])
@pytest.mark.parametrize(
    "update",
    [
        "k.data = k.data * 0.9 + q.data * 0.1",
        "k.data.mul_(0.9).add_(q.data, alpha=0.1)",
        "k.copy_(0.9 * k + 0.1 * q)",
    ],
)
def test_a_target_is_not_taken_for_a_model_that_learns(source: str, update: str) -> None:
    result = convert(source.format(update=update))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "online = DistributedDataParallel(online)" in result.text
    assert "target = " in result.text and "Parallel(target)" not in result.text


def test_a_model_that_its_own_gradients_change_learns() -> None:
    """Nothing here would average them: it is not taken for one that follows."""
    source = SCRIPT.format(update="k.data = k.data - 0.1 * k.grad")
    source = source.replace("    with torch.no_grad():\n        aim", "    if True:\n        aim")
    result = convert(source)
    averaged = "DistributedDataParallel(target)" in result.text
    assert averaged or result.outcome is Outcome.REFUSED
