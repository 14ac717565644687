"""Parts of a batch that a collate function makes of several samples."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options
from transpile import convert as convert_by

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

x, y, w = torch.randn(32, 4), torch.randn(32, 1), torch.rand(32, 1)


def collate(batch):
    xs, ys, ws = (torch.stack(each) for each in zip(*batch))
    return {given}


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(list(zip(x, y, w)), batch_size=8, collate_fn=collate)
for a, b, c in loader:
    loss = (c * (model(a) - b) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "given",
    ["xs, ys, ws / ws.sum()", "(xs - xs.mean(0)) / xs.std(0), ys, ws", "xs, ys, ws - ws.mean()"],
)
def test_they_are_told_and_exact_by_calls(given: str) -> None:
    text = SCRIPT.format(given=given)
    assert "PT403" in [one.code for one in convert(text).findings]
    assert [one.code for one in convert_by(text, Options()).findings] == ["DT015"]


@pytest.mark.parametrize("given", ["xs, ys, ws", "2 * xs, ys - 1, ws.clamp(min=0.1)"])
def test_parts_of_each_sample_are_not(given: str) -> None:
    assert not convert(SCRIPT.format(given=given)).findings
