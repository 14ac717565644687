"""Tensors without a model that a script moves along their gradients are no business of a wrap's."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 4), torch.randn(48))
model = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
scale = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD({held}, lr=0.1)
for x, y in DataLoader(data, batch_size=12):
    x.requires_grad_(True)
    loss = ((model(x) * scale.exp() - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {change}
"""


def codes(change: str, held: str = "model.parameters()", shard: str = "data") -> list[str]:
    """What is said of a script."""
    script = SCRIPT.format(change=change, held=held)
    result = convert(script, Options(shard=shard), path="train.py")  # type: ignore[arg-type]
    if "PT418" in (found := [finding.code for finding in result.findings]):
        assert result.outcome is Outcome.REFUSED
    return found


@pytest.mark.parametrize(
    "change",
    [
        "scale.data -= 0.1 * scale.grad",
        "with torch.no_grad():\n        scale.sub_(scale.grad, alpha=0.1)",
        "scale = (scale - 0.1 * scale.grad).detach().requires_grad_()",
        "with torch.no_grad():\n        step = 0.1 * scale.grad.sign()\n        scale -= step",
    ],
)
def test_its_gradient_is_that_of_a_share(change: str) -> None:
    assert "PT418" in codes(change)
    assert "PT418" not in codes(change, shard="calls")


@pytest.mark.parametrize(
    "change",
    [
        "scale.grad = None",
        "with torch.no_grad():\n        moved = x + 0.1 * x.grad.sign()",
        "with torch.no_grad():\n        scale.clamp_(-1, 1)",
    ],
)
def test_other_changes_are_left(change: str) -> None:
    assert "PT418" not in codes(change)


def test_what_an_optimizer_holds_is_averaged_there() -> None:
    held = "[*model.parameters(), scale]"
    assert "PT418" not in codes("scale.grad.zero_()", held=held)
