"""Tests for batches of training loaders that a script only looks at."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
train_set = TensorDataset(torch.randn(96, 3), torch.randint(0, 2, (96,)))
train_loader = DataLoader(train_set, batch_size=12, {order})
model = nn.Linear(3, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{look}
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
LOOK = "points, labels = next(iter(train_loader))\nprint([labels[i].item() for i in range(12)])"


@pytest.mark.parametrize(
    "order", ["shuffle=True", "sampler=SubsetRandomSampler(list(range(48, 96)))"]
)
def test_a_batch_that_is_only_looked_at_is_whole(order: str) -> None:
    """A share of the batch has fewer samples than are shown: the script would end there."""
    found = convert(SCRIPT.format(order=order, look=LOOK))
    assert found.outcome is Outcome.CONVERTED
    assert "next(iter(whole_batches(train_loader)))" in found.text
    assert not {"PT603", "PT604"} & {finding.code for finding in found.findings}
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_a_batch_that_is_trained_on_stays_a_share() -> None:
    look = "x, y = next(iter(train_loader))\ncriterion(model(x), y).backward()\noptimizer.step()"
    found = convert(SCRIPT.format(order="shuffle=True", look=look))
    assert "whole_batches" not in found.text


def test_with_the_script_s_batch_on_each_process_nothing_is_put_together() -> None:
    text = SCRIPT.format(order="shuffle=True", look=LOOK)
    assert "whole_batches" not in convert(text, Options(batch_size="per-device")).text
