"""Numbers of the training that are handed to libraries of which nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from transpile import Options, convert

SCRIPT = """\
import reclib
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randn(16, 1)), batch_size=4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
plateau = ReduceLROnPlateau(optimizer)
recorder = reclib.Recorder()
for epoch in range(2):
    total = 0.0
    for x, y in loader:
        out = model(x)
        loss = torch.nn.functional.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        {within}
    {after}
"""


def codes(within: str = "pass", after: str = "pass", **options: Any) -> list[str]:
    """What is said of a script."""
    text = SCRIPT.format(within=within, after=after)
    return [one.code for one in convert(text, replace(Options(), **options)).findings]


@pytest.mark.parametrize("way", ["data", "calls"])
@pytest.mark.parametrize(
    "parts",
    [
        {"within": 'recorder.log("loss", loss.item())'},
        {"within": "recorder.update(out, y)"},
        {"within": 'recorder.entries["loss"].add(loss.detach())'},
        {"after": "recorder.log(total / len(loader), epoch)"},
        {"after": "reclib.note(total)"},
    ],
)
def test_they_are_told_once(parts: dict[str, str], way: str) -> None:
    assert codes(**parts, shard=way).count("PT533") == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"within": "recorder.tick()"},
        {"within": "total += reclib.as_number(1)"},
        {"after": "recorder.begin(epoch)"},
        {"after": "plateau.step(total)"},
        {"after": "print(total)"},
    ],
)
def test_other_calls_are_not(parts: dict[str, str]) -> None:
    assert "PT533" not in codes(**parts)
