"""Functions that decorators of the script put in the place of others are those that run."""

from __future__ import annotations

import pytest

from transpile import Level, Options, Outcome, convert

SCRIPT = """\
import functools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)


{code}


for epoch in range(3):
    for x, y in loader:
        {step}
torch.save(model.state_dict(), "model.pt")
"""
STEPPING = """\
def stepping(function):
    {wraps}
    def inner(*args, **kwargs):
        optimizer.zero_grad()
        loss = function(*args, **kwargs)
        loss.backward()
        optimizer.step()
    return inner


@stepping
def train(x, y):
    return F.mse_loss(model(x), y)"""
MADE = """\
def scaled(factor):
    def decorate(function):
        def inner(*args):
            return {given}
        return inner
    return decorate


class Trainer:
    @scaled(2.0)
    def loss(self, x, y):
        return F.mse_loss(model(x), y)

    def step(self, x, y):
        optimizer.zero_grad()
        self.loss(x, y).backward()
        optimizer.step()


trainer = Trainer()"""


@pytest.mark.parametrize("wraps", ["pass", "@functools.wraps(function)"])
def test_a_step_within_a_decorator_trains(wraps: str) -> None:
    text = SCRIPT.format(code=STEPPING.format(wraps=wraps), step="train(x, y)")
    result = convert(text, path="train.py")
    assert result.outcome is Outcome.CONVERTED
    assert "DistributedDataParallel(model)" in result.text


@pytest.mark.parametrize(
    ("given", "told"),
    [("factor * function(*args)", False), ("function(*args) ** factor", True)],
)
def test_what_a_decorator_does_to_a_loss_counts(given: str, told: bool) -> None:
    text = SCRIPT.format(code=MADE.format(given=given), step="trainer.step(x, y)")
    result = convert(text.encode(), Options(shard="data"), path="train.py")
    assert result.outcome is Outcome.CONVERTED
    warned = [one.code for one in result.findings if one.level is not Level.NOTE]
    assert ("PT403" in warned) == told
