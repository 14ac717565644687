"""Loaders with samplers of their own."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result

SCRIPT = """\
import argparse

import torch
from torch import nn
from torch.utils.data import (
    BatchSampler, DataLoader, IterableDataset, RandomSampler, Sampler, TensorDataset,
    WeightedRandomSampler,
)

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))


class Pairs:
    def __iter__(self):
        return iter([[i, i + 1] for i in range(0, 64, 2)])

    def __len__(self):
        return 32


class Batches(IterableDataset):
    def __iter__(self):
        for i in range(8):
            yield torch.ones(8, 3) * i, torch.ones(8, 1)


{loader}
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
MEAN = "nn.functional.mse_loss(model(x), y)"
MIXED = """\
parser = argparse.ArgumentParser()
parser.add_argument("--balance", action="store_true")
args = parser.parse_args()
sampler = WeightedRandomSampler(torch.rand(64), 64) if args.balance else None
loader = DataLoader(data, batch_size=8, sampler=sampler, shuffle=sampler is None)"""


def result(loader: str, loss: str = MEAN) -> Result:
    return convert(SCRIPT.format(loader=loader, loss=loss))


def errors(found: Result) -> list[str]:
    return [finding.message for finding in found.findings if finding.level is Level.ERROR]


@pytest.mark.parametrize(
    ("loader", "line"),
    [
        (
            "loader = DataLoader(data, batch_sampler=Pairs())",
            "loader = DataLoader(data, batch_sampler=share_batches(Pairs()))",
        ),
        (
            "loader = DataLoader(data, None, sampler=BatchSampler(RandomSampler(data), 8, False))",
            "loader = DataLoader(data, None, "
            "sampler=share_batches(BatchSampler(RandomSampler(data), 8, False)))",
        ),
        (MIXED, "loader = shard_loader_with_sampler(loader)"),
        (MIXED, "    if isinstance(loader.sampler, DistributedSampler):"),
    ],
)
def test_what_a_sampler_draws_is_shared_out(loader: str, line: str) -> None:
    found = result(loader)
    assert found.outcome is Outcome.CONVERTED, errors(found)
    assert line in found.text.splitlines()
    again = convert(found.text, Options(respect_distributed=False))
    assert again.text == found.text


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("(model(x[:1]) - model(x[1:])).pow(2).mean()", "takes samples of a batch by their place"),
        ("torch.cdist(model(x), model(x)).mean()", "depend on what is in one batch"),
    ],
)
def test_batches_that_are_put_together_for_the_loss_are_refused(loss: str, said: str) -> None:
    found = result("loader = DataLoader(data, batch_sampler=Pairs())", loss)
    assert found.outcome is Outcome.REFUSED
    assert any(said in message for message in errors(found)), errors(found)


def test_whole_batches_of_a_dataset_are_refused() -> None:
    found = result("loader = DataLoader(Batches(), batch_size=None)")
    assert found.outcome is Outcome.REFUSED
    assert any("makes no batches" in message for message in errors(found)), errors(found)
