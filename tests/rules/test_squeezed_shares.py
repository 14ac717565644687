"""A share of one sample loses its axis to a squeeze that names none."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(10, 4), torch.rand(10))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return {forward}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=4{more}):
    optimizer.zero_grad()
    nn.functional.mse_loss({scores}, y).backward()
    optimizer.step()
"""


def codes(forward: str, scores: str, more: str = "") -> list[str]:
    """What is said of squeezes."""
    text = SCRIPT.format(forward=forward, scores=scores, more=more)
    found = convert(text, Options(shard="data")).findings
    return [each.code for each in found if each.code == "PT241"]


@pytest.mark.parametrize(
    ("forward", "scores"),
    [
        ("self.layer(x)", "model(x).squeeze()"),
        ("self.layer(x)", "torch.squeeze(model(x))"),
        ("self.layer(x).squeeze()", "model(x)"),
    ],
)
def test_a_squeeze_without_an_axis_is_noted(forward: str, scores: str) -> None:
    assert codes(forward, scores) == ["PT241"]


@pytest.mark.parametrize(
    ("forward", "scores", "more"),
    [
        ("self.layer(x)", "model(x).squeeze(-1)", ""),
        ("self.layer(x).squeeze(1)", "model(x)", ""),
        ("self.layer(x)", "torch.squeeze(model(x), 1)", ""),
        ("self.layer(x)", "model(x).squeeze()", ", drop_last=True"),
        ("self.layer(x)[:, 0]", "model(x)", ""),
    ],
)
def test_other_squeezes_are_not(forward: str, scores: str, more: str) -> None:
    assert codes(forward, scores, more) == []
