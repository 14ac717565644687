"""What parts of a model keep that are reached through a container of parts, or by all modules."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 6)
        self.kept = 0.0

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        self.kept = {kept}
        return x * shares

    def penalty(self):
        return self.kept


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {made}
        self.out = nn.Linear(6, 3)

    def forward(self, x):
        for gate in self.gates:
            x = gate(x)
        return self.out(x)

    def penalty(self):
        return sum(gate.kept for gate in self.gates)


x = torch.randn(48, 6)
loader = DataLoader(TensorDataset(x, torch.arange(48) % 3), batch_size=12)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(a), b)
    {added}
    loss.backward()
    optimizer.step()
"""
COUPLED = "(shares.mean(0) * shares.mean(0)).sum()"
PLAIN = "(shares**2).mean()"
LIST = "self.gates = nn.ModuleList([Gate() for _ in range(2)])"
MADE = (
    LIST,
    "self.gates = nn.ModuleList()\n        for _ in range(2):\n"
    "            self.gates.append(Gate())",
    "self.gates = nn.ModuleList(Gate() for _ in range(2))",
    "self.gates = nn.Sequential(Gate(), Gate())",
)
ADDED = (
    "loss = loss + net.penalty()",
    "loss = loss + sum(gate.kept for gate in net.gates)",
    "loss = loss + sum(gate.penalty() for gate in net.gates)",
    "loss = loss + net.gates[0].kept",
    "loss = loss + sum(gate.kept for gate in net.gates[:1])",
    "for part in net.modules():\n        if hasattr(part, 'kept'):\n"
    "            loss = loss + part.kept",
    "loss = loss + sum(part.kept for part in net.modules() if isinstance(part, Gate))",
    "loss = loss + sum(part.penalty() for part in net.children() if hasattr(part, 'penalty'))",
)


def codes(kept: str, made: str, added: str) -> set[str]:
    """The codes of what is found in a script."""
    result = convert(SCRIPT.format(kept=kept, made=made, added=added).encode())
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("made", MADE)
def test_what_parts_of_a_container_keep_is_known(made: str) -> None:
    assert "PT403" in codes(COUPLED, made, ADDED[0])
    assert "PT403" not in codes(PLAIN, made, ADDED[0])


@pytest.mark.parametrize("added", ADDED)
def test_it_is_known_however_they_are_reached(added: str) -> None:
    assert "PT403" in codes(COUPLED, LIST, added)


@pytest.mark.parametrize("added", ADDED[:5])
def test_what_is_a_mean_stays_one(added: str) -> None:
    assert codes(PLAIN, LIST, added) == set()
