"""Classes around loaders of which one object is for training and another one for evaluation."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make(n):
    x = torch.arange(float(n * 4)).view(n, 4) / n
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)


class Batches:
{body}

{made}
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for x, y in train:
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("tested on", sum(len(x) for x, y in test))
"""
BODIES = {
    "given": """\
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return iter(self.loader)
""",
    "an iterator itself": """\
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        self.iterator = iter(self.loader)
        return self

    def __next__(self):
        return next(self.iterator)
""",
    "in a method": """\
    def __init__(self, loader):
        self.take(loader)

    def take(self, loader):
        self.loader = loader

    def __iter__(self):
        yield from self.loader
""",
    "by name": """\
    def __init__(self, loader):
        setattr(self, "loader", loader)

    def __iter__(self):
        return iter(getattr(self, "loader"))
""",
}
BOTH = "train, test = Batches(make(32)), Batches(make(16))"
APART = "train, test = Batches(make(32)), make(16)"


@pytest.mark.parametrize("body", BODIES)
def test_the_loader_of_an_evaluation_is_not_rebuilt(body: str) -> None:
    text = SCRIPT.format(body=BODIES[body], made=BOTH)
    result = convert(text, Options(shard="data"))
    assert result.outcome is Outcome.REFUSED
    assert "PT206" in {one.code for one in result.findings}


@pytest.mark.parametrize("body", BODIES)
def test_the_calls_are_split_instead(body: str) -> None:
    result = convert(SCRIPT.format(body=BODIES[body], made=BOTH))
    assert result.outcome is Outcome.CONVERTED
    assert result.text is not None and "shard_loader" not in result.text


def test_a_wrapper_for_training_alone_is_rebuilt() -> None:
    result = convert(SCRIPT.format(body=BODIES["given"], made=APART), Options(shard="data"))
    assert result.outcome is Outcome.CONVERTED
