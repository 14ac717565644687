"""Tests for samples of training batches that a script counts one by one."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def validate(net, loader):
    matrix = np.zeros([2, 2])
    counts = [0, 0]
    hits = 0
    rounds = 0
    batches = {{"n": 0}}
    for x, y in loader:
        _, guess = torch.max(net(x).data, 1)
        batches["n"] += 1
        for _ in range(5):
            rounds += 1
        for i in range(len(y)):
            matrix[y[i].numpy(), guess[i].numpy()] += 1.0
            counts[y[i]] += 1
            if guess[i] == y[i]:
                hits += 1
    print({shown})


data = TensorDataset(torch.randn(96, 3), torch.randint(0, 2, (96,)))
train_loader = DataLoader(data, batch_size=12, shuffle=True)
valid_loader = DataLoader(data, batch_size=12)
model = nn.Linear(3, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
validate(model, {loader})
"""


def warnings(shown: str, loader: str) -> list[str]:
    found = convert(SCRIPT.format(shown=shown, loader=loader))
    assert found.outcome is Outcome.CONVERTED
    return [finding.message for finding in found.findings if finding.code == "PT603"]


@pytest.mark.parametrize("shown", ["np.trace(matrix) / matrix.sum()", "counts[0]", "hits"])
def test_what_samples_are_counted_in_is_that_of_one_share(shown: str) -> None:
    """Each process counts its own samples, which nothing said."""
    assert "it counts the samples of one process" in " ".join(warnings(shown, "train_loader"))


@pytest.mark.parametrize("shown", ["matrix.sum()", "counts[0]", "hits"])
def test_an_evaluation_of_everything_counts_everything(shown: str) -> None:
    assert not warnings(shown, "valid_loader")


@pytest.mark.parametrize("shown", ["batches['n']", "rounds"])
def test_batches_and_rounds_are_as_many_on_every_process(shown: str) -> None:
    assert not warnings(shown, "train_loader")
