"""Losses that training shares with evaluations whose batches each process shuffles for itself."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x, y):
        return F.cross_entropy(self.layer(x), y, ignore_index=-1)


torch.manual_seed(0)
x, y = torch.randn(400, 8), torch.randint(-1, 4, (400,))
train_set, test_set = TensorDataset(x[:320], y[:320]), TensorDataset(x[320:], y[320:])
loader = DataLoader(train_set, batch_size=32, shuffle=True)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


{decorator}
def evaluate(dataset):
    losses = []
    for a, b in DataLoader(dataset, batch_size=16, shuffle={shuffle}):
        losses.append(model(a, b).item())
    return sum(losses) / len(losses)


for epoch in range(3):
    for a, b in loader:
        loss = model(a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate(test_set))
"""
HELPER = "/ reduce_mean_in_training((y != -1).sum())"


@pytest.mark.parametrize("decorator", ["@torch.no_grad()", "@torch.inference_mode()"])
def test_an_evaluation_divides_by_what_its_own_batch_counts(decorator: str) -> None:
    """The batches of the processes are no shares of one batch there, and rank 0 reports its own."""
    found = convert(SCRIPT.format(decorator=decorator, shuffle="True"))
    assert found.outcome is Outcome.CONVERTED
    assert HELPER in found.text
    assert "PT403" not in {finding.code for finding in found.findings}
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_batches_in_order_are_the_same_on_all_processes() -> None:
    found = convert(SCRIPT.format(decorator="@torch.no_grad()", shuffle="False"))
    assert "/ reduce_mean((y != -1).sum())" in found.text


def test_an_evaluation_that_looks_like_training_is_told() -> None:
    found = convert(SCRIPT.format(decorator="@str", shuffle="True").replace("@str\n", ""))
    assert "reduce_mean_in_training" not in found.text
    messages = [finding.message for finding in found.findings if finding.code == "PT403"]
    assert messages and "shuffles for itself" in messages[0]
