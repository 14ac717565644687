"""Samples that leave a model beside its outputs, where the model cannot be followed to its end."""

from __future__ import annotations

import pytest

from transpile import convert
from transpile.finding import Level
from transpile.options import Options

SCRIPT = """\
import lib
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 3)
        self.kept = torch.zeros(3)
        self.calls = 0

    def forward(self, x):
        h = self.fc(x)
{forward}
        # No shape is known that has so many axes: the solver comes to no end.
        return h[0, 0, 0, 0, 0, 0, 0]


loader = DataLoader(TensorDataset(torch.randn(60, 5), torch.randn(60, 3)), batch_size=6)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y){more}
    loss.backward()
    optimizer.step()
"""
BESIDE = {
    "set": ("self.mean = h.mean()", " + model.mean"),
    "set in a tuple": ("h, self.mean = h, h.mean()", " + model.mean"),
    "put in a list": ("self.seen.append(h.mean())", " + sum(model.seen)"),
    "read by its name": ("self.mean = h.mean()", " + getattr(model, 'mean')"),
    "kept": ("self.kept = 0.9 * self.kept + 0.1 * h.mean(0)\n        h = h - self.kept", ""),
    "kept in place": ("self.kept.mul_(0.9).add_(h.mean(0))\n        h = h - self.kept", ""),
    "kept in a part": ("self.kept[0] = h.mean()\n        h = h - self.kept", ""),
}
WITHIN = {
    "nothing": ("", ""),
    "set and read within": ("self.h = F.relu(h)\n        h = self.h", ""),
    "a counter": ("self.calls += 1", ""),
    "a flag": ("self.called = True", " + 0 * model.called"),
}


def codes(forward: str, more: str, model: str = "Net()") -> set[str]:
    """The codes of what is said of a script, its calls split."""
    text = SCRIPT.format(forward=f"        {forward}", model=model, more=more)
    result = convert(text.encode(), Options(shard="calls"))
    return {
        one.code for one in result.findings if one.level is not Level.NOTE or one.code == "PT354"
    }


@pytest.mark.parametrize("name", BESIDE)
def test_what_leaves_a_model_beside_its_outputs(name: str) -> None:
    """A comparison of outputs would not see it: the calls are not split."""
    assert "PT352" in codes(*BESIDE[name])


@pytest.mark.parametrize("name", WITHIN)
def test_what_stays_within_a_call(name: str) -> None:
    """What is set before it is read, and plain values, are left to the first batch."""
    assert codes(*WITHIN[name]) == {"PT354"}


def test_attributes_of_models_of_libraries() -> None:
    """What a loss reads off a model that cannot be looked into may be made of its samples."""
    assert "PT352" in codes("", " + model.balance", "lib.Net()")
    assert codes("", "", "lib.Net()") == {"PT354"}
    assert codes("", " + model.head.weight.abs().sum()", "lib.Net()") == {"PT354"}
