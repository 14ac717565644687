"""Data sets that are asked for all samples of a batch at once."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

torch.manual_seed(0)

class Table(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(64, 5), torch.randn(64, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, ids):
        ONE

    def LISTED(self, ids):
        MANY

data = Table()
loader = DataLoader(data, GIVEN)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ONE = "return self.x[ids], self.y[ids]"
#: How all samples of a batch are made, and whether they meet there.
MADE = {
    "return list(zip(self.x[ids] - self.x[ids].mean(0), self.y[ids]))": True,
    "m = self.x[ids].mean(0); return [(self.x[i] - m, self.y[i]) for i in ids]": True,
    "x = self.x[ids]; x = x / x.max(); return [(a, b) for a, b in zip(x, self.y[ids])]": True,
    "return list(zip(self.x[ids].flip(0), self.y[ids]))": True,
    "return list(zip(self.x[ids], self.y[ids]))": False,
    "return [self[i] for i in ids]": False,
    "return [(self.x[i] * 2, self.y[i]) for i in ids]": False,
    "x = self.x[ids]; x = x - x.mean(1, keepdim=True); return list(zip(x, self.y[ids]))": False,
}
BY_LISTS = "sampler=BatchSampler(SequentialSampler(data), 16, False), batch_size=None"
MEAN = "x = self.x[ids]; return x - x.mean(0), self.y[ids]"


def codes(one: str, many: str, given: str, listed: str = "__getitems__") -> list[str]:
    """The codes of all findings."""
    text = SCRIPT.replace("ONE", one).replace("MANY", many)
    text = text.replace("GIVEN", given).replace("LISTED", listed)
    return [found.code for found in convert(text, Options(shard="data")).findings]


@pytest.mark.parametrize("many", MADE)
def test_samples_that_are_made_together_may_meet(many: str) -> None:
    """``__getitems__`` is given the indices of one process's share."""
    assert ("PT236" in codes(ONE, many, "batch_size=16")) is MADE[many]


def test_an_index_may_be_a_list() -> None:
    """Without a size of batches, the data set is given what a batch sampler gives."""
    assert "PT236" in codes(MEAN, "pass", BY_LISTS, "other")
    assert "PT236" not in codes(ONE, "pass", BY_LISTS, "other")
    assert "PT236" not in codes(MEAN, "pass", "batch_size=16", "other")
