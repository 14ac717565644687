"""What models are given to keep by name is what it was made of."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Adjusted(nn.Module):
    def __init__(self, prior):
        super().__init__()
        {kept}

    def forward(self, out, y):
        return nn.functional.cross_entropy(out + self.prior, y)


def counted(data):
    found = Counter()
    for _, y in data:
        found.update(y.tolist())
    return torch.tensor([found[k] / sum(found.values()) for k in range(3)])


dataset = TensorDataset(torch.randn(72, 4), torch.randint(0, 3, (72,)))
loader = DataLoader(dataset, batch_size=12)
cost = Adjusted({prior})
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = cost(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KEPT = ("self.prior = prior.log()", "self.register_buffer('prior', prior.log())")


@pytest.mark.parametrize("kept", KEPT)
def test_buffers_of_counted_samples_are_not_equal_on_all_ranks(kept: str) -> None:
    source = SCRIPT.format(kept=kept, prior="counted(loader)")
    found = {each.code for each in convert(source, Options(shard="data")).findings}
    assert found >= {"PT215", "PT403"}
    assert "SplitCalls" in convert(source).text


@pytest.mark.parametrize("kept", KEPT)
def test_other_buffers_are_equal_on_all_ranks(kept: str) -> None:
    source = SCRIPT.format(kept=kept, prior="torch.tensor([0.5, 0.3, 0.2])")
    assert not convert(source, Options(shard="data")).findings
