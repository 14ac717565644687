"""Trainings that a run of the script takes instead of each other draw noise of their own."""

from __future__ import annotations

from transpile import Options, convert

SCRIPT = """\
import argparse
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="one")
args = parser.parse_args()
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def first():
    for x, y in loader:
        loss = F.mse_loss(model(x * torch.rand(len(x), 1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def second():
    for x, y in loader:
        loss = F.mse_loss(model(x + torch.randn(len(x), 1)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

{calls}
"""
EITHER = 'if args.kind == "one":\n    first()\nelse:\n    second()'
BOTH = "first()\nsecond()"


def varied(calls: str) -> int:
    """How often the processes are given random numbers of their own."""
    result = convert(SCRIPT.format(calls=calls), Options(shard="data"))
    return result.text.count("    vary_seed()")


def test_each_of_two_trainings_varies_its_random_numbers() -> None:
    """Only one of them runs."""
    assert varied(EITHER) == 2


def test_two_trainings_in_a_row_vary_them_once() -> None:
    """The second goes on with the numbers of the first."""
    assert varied(BOTH) == 1
