"""A device that nothing in the project tells may be a GPU."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


torch.manual_seed(0)


class Settings(dict):
    __getattr__ = dict.get


options = Settings(json.load(open("settings.json")))
net = nn.Linear(4, 1).to({device})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8):
    optimizer.zero_grad()
    net(x.to({device})).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("device", "backend"),
    [
        ("options['device']", "setup_distributed()"),
        ("options.device", "setup_distributed()"),
        ("torch.device(options['device'])", "setup_distributed()"),
        ("'cpu'", "setup_distributed('gloo')"),
        ("torch.device('cpu')", "setup_distributed('gloo')"),
        ("torch.float64", "setup_distributed('gloo')"),
    ],
)
def test_a_device_that_is_not_told_joins_a_group_for_both(device: str, backend: str) -> None:
    text = convert(SCRIPT.format(device=device), Options(), path="train.py").text
    assert backend in text.replace('"', "'")
