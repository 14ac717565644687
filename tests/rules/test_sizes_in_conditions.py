"""Tests for sizes of batches in conditions."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(96, 3, 4, 4), torch.randint(0, 2, (96,)))
train_loader = DataLoader(data, batch_size=12, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(48, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
noise = torch.randn(12, 3, 4, 4)
for epoch in range(2):
    for x, y in train_loader:
        {line}
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def converted(line: str) -> str:
    found = convert(SCRIPT.format(line=line))
    assert found.outcome is Outcome.CONVERTED
    return found.text


@pytest.mark.parametrize("names", ["size,c,h,w", "(size, c, h, w)", "[size, c, h, w]"])
def test_a_size_unpacked_among_others_is_multiplied_where_it_is_compared(names: str) -> None:
    """The names that it is bound to cannot be multiplied: the output was no Python."""
    text = converted(f"{names} = x.shape\n        if size < 12:\n            continue")
    assert f"        {names} = x.shape\n" in text
    assert "if size * get_world_size() < 12:" in text


@pytest.mark.parametrize(
    "test",
    [
        "noise.shape[0] != x.shape[0]",
        "noise.size(0) != x.size(0)",
        "noise.size()[0] != x.shape[0]",
    ],
)
def test_sizes_of_two_tensors_are_compared_within_one_process(test: str) -> None:
    """What is added to a share of the batch must have its size, not that of the whole batch."""
    text = converted(f"if {test}:\n            noise = torch.randn(x.shape[0], 3, 4, 4)")
    assert f"if {test}:" in text
