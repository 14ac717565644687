"""Models that are given arrays of NumPy, of which split calls would see no rows."""

from __future__ import annotations

from transpile import Options, Outcome, convert

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from feed import Sampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, items):
        return self.last(self.embed(torch.LongTensor(items)).mean(1))


sampler = Sampler(32)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    items, target = sampler.next_batch()
    items = {made}
    loss = (model(items) - torch.tensor(target)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CALLS = Options(shard="calls")


def test_no_call_with_arrays_is_split() -> None:
    """Each process would compute it whole, past the wrap that averages gradients."""
    found = convert(SCRIPT.format(made="np.array(items)").encode(), CALLS)
    assert found.outcome is Outcome.REFUSED
    assert "arrays of NumPy" in " ".join(finding.message for finding in found.findings)


def test_calls_with_tensors_are_split() -> None:
    found = convert(
        SCRIPT.format(made="torch.tensor(items)")
        .replace("torch.LongTensor(items)", "items")
        .encode(),
        CALLS,
    )
    assert found.outcome is Outcome.CONVERTED
    assert "SplitCalls(model)" in found.text
