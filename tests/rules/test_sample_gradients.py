"""Samples that are moved along their own gradients would move too far."""

from __future__ import annotations

import pytest

from transpile import Level, convert

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
