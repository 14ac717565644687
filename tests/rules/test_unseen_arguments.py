"""Loaders whose arguments come from a configuration, or from a dict that several loaders share."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome, Verdict

SCRIPT = """\
import argparse
import yaml
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=12)
args = parser.parse_args()
with open("config.yaml") as file:
    config = yaml.safe_load(file)
data = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
options = {"batch_size": args.batch_size, "drop_last": True}
#LOADERS
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in train_loader:
        noise = torch.zeros(args.batch_size, 4)
        loss = nn.functional.mse_loss(model(x + noise), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("loaders", "shared_noise"),
    [
        ("train_loader = DataLoader(data, **config['loader'])", False),
        ("train_loader = DataLoader(data, batch_size=args.batch_size, **config)", True),
        (
            "train_loader = DataLoader(data, shuffle=True, **options)\n"
            "test_loader = DataLoader(data, **options)",
            True,
        ),
    ],
)
def test_the_finished_loader_is_rebuilt(loaders: str, shared_noise: bool) -> None:
    result = convert(SCRIPT.replace("#LOADERS", loaders), path="train.py")
    assert result.outcome is Outcome.CONVERTED, [finding.message for finding in result.findings]
    lines = [line.strip() for line in result.text.splitlines()]
    assert "train_loader = shard_loader(train_loader)" in lines
    assert "train_loader.sampler.set_epoch(epoch)" in lines
    divided = "noise = torch.zeros(split_batch(args.batch_size), 4)" in lines
    assert divided is shared_noise
    assert all(line in lines for line in loaders.splitlines())


def test_the_output_has_nothing_left_to_do() -> None:
    loaders = "train_loader = DataLoader(data, shuffle=True, **options)"
    loaders += "\ntest_loader = DataLoader(data, **options)"
    first = convert(SCRIPT.replace("#LOADERS", loaders), path="train.py")
    again = convert(first.text, Options(respect_distributed=False), path="train.py")
    assert again.text == first.text
    assert not [each for each in again.decisions if each.verdict is not Verdict.ALREADY_DONE]
