"""Models that give their loss: a mean over samples that are apart until then."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile.finding import Level

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, i):
        return i % 8, (i + 1) % 8, torch.arange(3) + i % 5


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(8, 4)
        self.v = nn.Embedding(8, 4)

    def forward(self, c, p, n):
        e = self.u(c)
        near = F.logsigmoid((e * self.v(p)).sum(1))
        far = F.logsigmoid(-torch.bmm(self.v(n), e.unsqueeze(2)).squeeze(2)).sum(1)
        return {given}


loader = DataLoader(Pairs(), batch_size=12)
model = Words()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for c, p, n in loader:
    optimizer.zero_grad()
    loss = model(c, p, n)
    loss.backward()
    optimizer.step()
"""


def is_warned_of(given: str) -> bool:
    """Whether something is said of a model that gives such a loss."""
    found = convert(SCRIPT.format(given=given).encode()).findings
    return any(one.level is not Level.NOTE for one in found)


def test_a_mean_over_samples_that_are_apart() -> None:
    """Shapes that are supposed of the inputs, and that would mix samples before, are not meant."""
    assert not is_warned_of("-(near + far).mean()")


@pytest.mark.parametrize(
    "given", ["-(near - near.mean() * far).mean().abs()", "-torch.softmax(near + far, 0).max()"]
)
def test_samples_that_are_mixed_before(given: str) -> None:
    assert is_warned_of(given)
