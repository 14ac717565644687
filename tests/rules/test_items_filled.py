"""Losses of tensors that a model's outputs are written into, item by item."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)


loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 2)), batch_size=8)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    out = torch.zeros(len(x), 2)
    for i in range(2):
        out[:, i] = model(x)[:, i]
    loss = nn.functional.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SCALED = "(loss * get_world_size()).backward()"
MADE = "torch.zeros(len(x), 2)"
MEAN = "nn.functional.mse_loss(out, y)"
SUM = "((out - y) ** 2).sum()"
FILLED = "    for i in range(2):\n        out[:, i] = model(x)[:, i]\n"


def changed(*changes: tuple[str, str]) -> str:
    """The script with some of its text replaced."""
    text = SCRIPT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("made", [MADE, "torch.zeros_like(y)", "x.new_empty(y.shape).to(x.device)"])
def test_a_loss_of_filled_columns_goes_through_the_model(made: str) -> None:
    """Each column has the gradients of what was written into it."""
    result = convert(changed((MADE, made)).encode())
    assert result.outcome is Outcome.CONVERTED
    assert not result.findings
    assert "DistributedDataParallel(model)" in result.text
    assert SCALED not in result.text


@pytest.mark.parametrize("made", [MADE, "torch.zeros(8, 2)"])
def test_a_sum_over_filled_columns_is_scaled(made: str) -> None:
    """It is a sum over the samples of one process."""
    result = convert(changed((MADE, made), (MEAN, SUM)).encode())
    assert not result.findings
    assert SCALED in result.text


def test_a_sum_over_columns_that_a_model_fills_is_scaled() -> None:
    """What a pass gives was taken for a number without a gradient."""
    forward = """\
        h = self.layer(x)
        out = torch.zeros(len(x), 2)
        for i in range(2):
            out[:, i] = h[:, i]
        return out
"""
    text = changed(
        ("        return self.layer(x)\n", forward),
        ("    out = torch.zeros(len(x), 2)\n" + FILLED, "    out = model(x)\n"),
        (MEAN, SUM),
    )
    result = convert(text.encode())
    assert not result.findings
    assert SCALED in result.text


def test_what_is_cut_off_is_refused() -> None:
    """Nothing learns by what is written without its gradients."""
    text = changed(("model(x)[:, i]", "model(x)[:, i].detach()"))
    assert convert(text.encode()).outcome is Outcome.REFUSED


def test_rows_beside_those_of_a_share_are_told() -> None:
    """A mean over more rows than the batch has is another one for a share."""
    text = changed((MADE, "torch.zeros(16, 2)"), (FILLED, "    out[:len(x)] = model(x)\n"))
    result = convert(text.replace(MEAN, "out.abs().mean()").encode())
    assert [each for each in result.findings if each.code == "PT403"]
