"""Samples that are moved along their own gradients would move too far."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(48, 4))
model = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for (x,) in DataLoader(data, batch_size=12, shuffle=True):
        fake = torch.rand_like(x)
        fake.requires_grad_(True)
        {backward}
        {move}
        fake = fake.detach()
        optimizer.zero_grad()
        loss = model(x).mean() - model(fake).mean()
        loss.backward()
        {other}
        optimizer.step()
"""
SUM = "model(fake).sum().backward()"
MEAN = "model(fake).mean().backward()"
ALONE = "(gradient,) = torch.autograd.grad(model(fake).sum(), fake)"


def errors(backward: str, move: str, other: str = "pass") -> list[str]:
    result = convert(SCRIPT.format(backward=backward, move=move, other=other))
    return [each.code for each in result.findings if each.level is Level.ERROR]


@pytest.mark.parametrize("backward", [SUM, MEAN])
@pytest.mark.parametrize(
    "move",
    [
        "fake.data.add_(fake.grad, alpha=-0.1)",
        "fake.data.sub_(0.1 * fake.grad.data)",
        "fake.data = fake.data - 0.1 * fake.grad",
        "fake.data -= 0.1 * fake.grad",
    ],
)
def test_moves_along_gradients_of_samples_are_refused(backward: str, move: str) -> None:
    assert errors(backward, move) == ["PT410"]


@pytest.mark.parametrize(
    ("backward", "move", "other"),
    [
        (SUM, "fake.data.add_(fake.grad.sign(), alpha=-0.1)", "pass"),
        (ALONE, "fake.data.add_(gradient, alpha=-0.1)", "pass"),
        (ALONE, "pass", "for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)"),
        (SUM, "fake.grad.clamp_(-0.1, 0.1)", "pass"),
    ],
)
def test_what_does_not_depend_on_the_share_is_not(backward: str, move: str, other: str) -> None:
    assert errors(backward, move, other) == []


def test_batches_that_a_generator_hands_on_without_end_are_training_data_too() -> None:
    text = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def batches(loader):
    drawn = iter(loader)
    while True:
        try:
            yield next(drawn)
        except StopIteration:
            drawn = iter(loader)
            yield next(drawn)


torch.manual_seed(0)
dataset = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
loader = enumerate(batches(DataLoader(dataset, batch_size=6, shuffle=True)))
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x, _) in loader:
    fake = torch.rand(x.shape[0], 4)
    fake.requires_grad = True
    model(fake).sum().backward()
    fake.data.add_(-10, fake.grad.data)
    model.zero_grad()
    (model(x) - model(fake.detach())).mean().backward()
    optimizer.step()
    if step == 7:
        break
"""
    result = convert(text.encode(), path="train.py")
    assert "PT410" in {finding.code for finding in result.findings}
