"""Tests for training loaders that branches make."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--many", action="store_true")
args = parser.parse_args()
{branches}
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""
MADE = "train_loader = DataLoader(TensorDataset(torch.randn({0}, 3), torch.randn({0}, 1)), 12)"
EITHER = f"if args.many:\n    {MADE.format(96)}\nelse:\n    {MADE.format(48)}"
ATTEMPT = f"try:\n    {MADE.format(96)}\nexcept OSError:\n    {MADE.format(48)}"


@pytest.mark.parametrize("branches", [EITHER, ATTEMPT])
def test_the_sampler_of_the_branch_that_ran_is_told_the_epoch(branches: str) -> None:
    """The sampler's variable of the other branch does not exist: it was read all the same."""
    found = convert(SCRIPT.format(branches=branches))
    assert found.outcome is Outcome.CONVERTED
    loop = found.text.partition("for epoch in range(2):")[2]
    assert loop.count("set_epoch(") == 1
    assert "train_loader.sampler.set_epoch(epoch)" in loop
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_one_loader_is_told_through_its_variable() -> None:
    found = convert(SCRIPT.format(branches=MADE.format(96)))
    assert "    if train_sampler is not None:\n        train_sampler.set_epoch(epoch)" in found.text


@pytest.mark.parametrize("branches", [EITHER, ATTEMPT])
def test_batches_drawn_by_an_iterator_tell_the_sampler_of_the_branch_that_ran(
    branches: str,
) -> None:
    script = SCRIPT.format(branches=branches).replace("in train_loader:", "in iter(train_loader):")
    found = convert(script)
    assert found.outcome is Outcome.CONVERTED
    loop = found.text.partition("for epoch in range(2):")[2]
    assert "train_sampler" not in loop
    assert loop.count("train_loader.sampler.set_epoch(") == 1


MAPPED = """\
    list(map(lambda pair: learn(*pair), train_loader))
"""
LEARN = """\
def learn(x, y):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


"""


@pytest.mark.parametrize(
    ("order", "outcome"),
    [(", True", Outcome.REFUSED), (", shuffle=True", Outcome.REFUSED), ("", Outcome.CONVERTED)],
)
def test_a_shuffled_loader_whose_passes_are_not_seen_is_refused(
    order: str, outcome: Outcome
) -> None:
    script = SCRIPT.format(branches=MADE.format(48).replace(", 12)", f", 12{order})"))
    head, _, _ = script.partition("    for x, y")
    script = head.replace("for epoch", f"{LEARN}for epoch") + MAPPED
    found = convert(script)
    assert found.outcome is outcome
    assert ("PT212" in {finding.code for finding in found.findings}) is (outcome is Outcome.REFUSED)
