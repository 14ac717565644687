"""Models that a function trains and gives back, and is given again for the next phase."""

from __future__ import annotations

import re

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
        self.features = nn.Linear(8, 12)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        return self.fc(self.features(x))


def train(net, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return {given}


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(60, 8), torch.randint(0, 3, (60,)))
    loader = DataLoader(data, batch_size=6, shuffle=True)
    model = Net()
    {ready}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {first} = train(model, loader, optimizer)
    optimizer = torch.optim.SGD({second}.parameters(), lr=0.01)
    {last} = train({second}, loader, optimizer)
    torch.save(model.state_dict(), "model.pt")


main()
"""
REPLACED = "model.fc = nn.Linear(12, 3)"


def wraps(**parts: str) -> list[str]:
    """The lines that wrap, with their indentation."""
    filled = {"given": "net", "ready": "pass", "first": "model", "second": "model", "last": "model"}
    result = convert(SCRIPT.format(**(filled | parts)))
    assert result.outcome is Outcome.CONVERTED, result.findings
    wrapped = re.compile(r"\w+ = (DistributedDataParallel|wrap_thawed)\(")
    return [line for line in result.text.splitlines() if wrapped.search(line)]


@pytest.mark.parametrize("ready", ["pass", REPLACED])
@pytest.mark.parametrize(
    ("given", "first"), [("net", "model"), ("(net, 1)", "model, best"), ("1", "best")]
)
def test_it_is_wrapped_once_where_it_is_ready(ready: str, given: str, first: str) -> None:
    parts = {"given": given, "first": first, "last": first, "ready": ready}
    assert wraps(**parts) == ["        model = DistributedDataParallel(model)"]


def test_a_function_that_gives_the_model_back_does_not_wrap_it_again() -> None:
    """Wrapped by each call, the second would wrap the first one's wrap: other keys are saved."""
    assert wraps(first="trained", second="trained", last="model") != [
        "        net = DistributedDataParallel(net)"
    ]
