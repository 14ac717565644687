"""Losses that are means already, and are divided by the number of samples once more."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(36, 3), torch.randint(0, 4, (36,))
loader = DataLoader(TensorDataset(x, y), batch_size=12)
model = nn.Linear(3, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
counts = np.zeros(4)
if len(sys.argv) > 1:
    for x, y in loader:
        counts += np.bincount(y.numpy(), minlength=4)
criterion = nn.CrossEntropyLoss(@)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss /= x.size(0)
        loss.backward()
        optimizer.step()
"""


def messages(script: str) -> list[str]:
    """What is said about losses."""
    return [each.message for each in convert(script.encode()).findings if each.code == "PT403"]


def test_the_factor_is_kept_where_a_denominator_cannot_be_changed() -> None:
    script = SCRIPT.replace("@", "ignore_index=2, size_average=True")
    text = convert(script.encode()).text
    assert "(loss / get_world_size()).backward()" in text
    assert any("denominator differs" in message for message in messages(script))


def test_the_factor_is_told_where_nothing_else_is_known() -> None:
    script = SCRIPT.replace("@", "weight=torch.from_numpy(1 / (1 + counts)).float()")
    assert any("N times too large" in message for message in messages(script))


def test_a_plain_mean_is_divided_by_what_all_processes_have() -> None:
    text = convert(SCRIPT.replace("@", "").encode()).text
    assert "(loss / get_world_size()).backward()" in text
