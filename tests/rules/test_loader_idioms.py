"""Ways to go over a training loader, and helper functions that make one."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 6), torch.randn(48, 1))
loader = DataLoader(data, batch_size=12)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for {batch} in {drawn}:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""
PASSES = {
    "tqdm(iter(loader))": "x, y",
    "enumerate(iter(loader))": "i, (x, y)",
    "tqdm(enumerate(iter(loader)))": "i, (x, y)",
    "itertools.islice(iter(loader), 3)": "x, y",
    "zip(range(3), iter(loader))": "i, (x, y)",
}
HELPER = """\
def get_loader(size, shuffle=True, drop_last=False):
    return DataLoader(data, batch_size=size, shuffle=shuffle, drop_last=drop_last)


loader = get_loader({given})
"""


@pytest.mark.parametrize("drawn", PASSES)
def test_batches_behind_an_iterator_are_trained_on(drawn: str) -> None:
    found = convert(SCRIPT.format(batch=PASSES[drawn], drawn=drawn), path="train.py")
    assert found.outcome is Outcome.CONVERTED
    assert "whole_batches(" not in found.text


@pytest.mark.parametrize("given", ["12", "12, False", "12, drop_last=True", "12, True, True"])
def test_helper_that_makes_loaders_keeps_its_parameters(given: str) -> None:
    script = SCRIPT.format(batch="x, y", drawn="loader")
    script = script.replace(
        "loader = DataLoader(data, batch_size=12)\n", HELPER.format(given=given)
    )
    text = convert(script, path="train.py").text
    assert "shuffle=train_sampler is None and shuffle," in text
    assert "shuffle=shuffle" in text and "drop_last=drop_last" in text
