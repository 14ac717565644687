"""Parts of a model that a method freezes and unfreezes once the model is wrapped."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 6)
        self.head = nn.Linear(6, 1)

    def forward(self, x):
        return self.head(self.body(x).tanh())


class Runner:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader

    def run(self, parts):
        {switch}
        optimizer = torch.optim.SGD([p for p in self.net.parameters() if p.requires_grad], lr=0.1)
        for x, y in self.loader:
            loss = (self.net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


data = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
runner = Runner({model}, DataLoader(data, batch_size=12))
for parts in [("head", "2"), ("body", "0", "head", "2")]:
    runner.run(parts)
torch.save(runner.net.state_dict(), "model.pt")
"""
LAYERS = "nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))"
SWITCHES = [
    "[p.requires_grad_(n.split('.')[0] in parts) for n, p in self.net.named_parameters()]",
    "for n, p in self.net.named_parameters(): p.requires_grad = n.startswith(parts)",
    "for n, m in self.net.named_children(): m.requires_grad_(n in parts)",
]


def wrap(switch: str, model: str) -> str:
    """The line of the output that wraps the model."""
    result = convert(SCRIPT.format(switch=switch, model=model), Options(shard="data"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert result.text is not None
    lines = [line for line in result.text.splitlines() if "= DistributedDataParallel(" in line]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("model", [LAYERS, "Net()"])
@pytest.mark.parametrize("switch", SWITCHES)
def test_the_wrap_does_not_wait_for_frozen_parts(switch: str, model: str) -> None:
    assert "find_unused_parameters=True" in wrap(switch, model)


@pytest.mark.parametrize("model", [LAYERS, "Net()"])
def test_a_wrap_of_what_stays_as_it_is_waits_for_all(model: str) -> None:
    assert "find_unused_parameters" not in wrap("pass", model)
    assert "find_unused_parameters" not in wrap("self.net.requires_grad_(True)", model)
