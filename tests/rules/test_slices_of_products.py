"""Batches that are cut by the number of a round, times the size of a batch."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
import torch.nn as nn

x = torch.randn(48, 6)
size = 8
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(len(x) // size):
    batch = x[{cut}]
    loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("cut", "outcome"),
    [
        ("step * size : (step + 1) * size", Outcome.CONVERTED),
        ("step * size : step * size + size", Outcome.CONVERTED),
        ("size * step : step * size + size", Outcome.CONVERTED),
        ("step * size : step * size + 2 * size", Outcome.REFUSED),
        ("step * size : (step + 2) * size + size", Outcome.REFUSED),
    ],
)
def test_they_lie_one_behind_the_other(cut: str, outcome: Outcome) -> None:
    assert convert(SCRIPT.format(cut=cut)).outcome is outcome
