"""The sampler is told of every pass over a training loader, wherever the pass begins."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options

DATA = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 4), torch.randint(0, 2, (48,)))
loader = DataLoader(data, batch_size=12, shuffle=True)
other = DataLoader(data, batch_size=12, shuffle=True)
"""
TRAIN = """\
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def learn(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


"""
RESTARTED = """\
batches = iter(loader)
for step in range(40):
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    learn(x, y)
"""
COUNTED = """\
batches = iter(loader)
for step in range(40):
    if (step + 1) % len(loader) == 0:
        batches = iter(loader)
    learn(*next(batches))
"""
IN_CLASS = """\
class Feed:
    def __init__(self, loader):
        self.loader = loader
        self.batches = iter(loader)

    def draw(self):
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)


feed = Feed(loader)
for step in range(40):
    learn(*feed.draw())
"""
PHASES = """\
for epoch in range(3):
    for x, y in loader:
        learn(x, y)
for epoch in range(3):
    for (x, y), (u, v) in zip(loader, other):
        learn(x, v)
"""


def converted(body: str) -> str:
    result = convert(DATA + TRAIN + body)
    assert result.text, result.findings
    return result.text


@pytest.mark.parametrize(
    ("body", "began"),
    [
        (RESTARTED, "batches = iter(loader)"),
        (COUNTED, "batches = iter(loader)"),
        (IN_CLASS, "self.batches = iter(self.loader)"),
    ],
)
def test_a_pass_that_begins_between_batches_is_told_there(body: str, began: str) -> None:
    lines = [line.strip() for line in converted(body).splitlines()]
    assert sum("set_epoch" in line for line in lines) == 1
    told = next(number for number, line in enumerate(lines) if "set_epoch" in line)
    assert lines[told].endswith(".epoch + 1)")
    assert lines[told + 1] == began


def test_an_epoch_whose_top_begins_no_pass_is_not_told() -> None:
    body = "batches = iter(loader)\nfor epoch in range(3):\n" + "".join(
        f"    {line}\n" for line in RESTARTED.splitlines()[1:]
    )
    lines = converted(body).splitlines()
    assert [line.strip() for line in lines if "set_epoch" in line] == [
        "train_sampler.set_epoch(train_sampler.epoch + 1)"
    ]


def test_passes_that_begin_at_the_top_and_between_batches_are_counted_together() -> None:
    body = "for epoch in range(3):\n" + "".join(f"    {line}\n" for line in RESTARTED.splitlines())
    told = [line.strip() for line in converted(body).splitlines() if "set_epoch" in line]
    assert told == ["train_sampler.set_epoch(train_sampler.epoch + 1)"] * 2


def test_each_phase_of_a_training_tells_the_samplers_of_its_loaders() -> None:
    text = converted(PHASES)
    assert text.count("train_sampler.set_epoch(epoch)") == 2
    assert text.count("train_sampler_2.set_epoch(epoch)") == 1


@pytest.mark.parametrize("body", [RESTARTED, COUNTED, IN_CLASS, PHASES])
def test_a_second_conversion_changes_nothing(body: str) -> None:
    text = converted(body)
    again = convert(text, options=Options(respect_distributed=False))
    assert again.text == text
