"""Loops that train one model one after the other, each on all rows in every step."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn

x = torch.linspace(-2, 2, 60).unsqueeze(1)
y = torch.sin(3 * x) * 0.5
model = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    optimizer.step()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    loss = ((model({given}) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("given", ["x", "x + 0.1"])
def test_their_calls_are_split(given: str) -> None:
    found = convert(SCRIPT.format(given=given), Options())
    assert found.outcome is Outcome.CONVERTED
    assert [one.code for one in found.findings] == ["DT015"]
