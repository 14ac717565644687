"""Parameters that are frozen or unfrozen around and after the wrap."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Outcome, Result

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x))

    def switch(self, learns):
        for parameter in self.body.parameters():
            parameter.requires_grad = learns


model = Net()
{before}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
for epoch in range(3):
    {first}
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch == 0:
        {after}
"""
FREEZE = "model.switch(False)"
UNFREEZE = [
    "model.switch(True)",
    "model.switch(epoch > 0)",
    "model.body.requires_grad_(True)",
    "[p.requires_grad_() for p in model.body.parameters()]",
    "model.requires_grad_()",
    "setattr(model.body[0].weight, 'requires_grad', True)",
    "model.body[0].weight.requires_grad = True",
    "for name, p in model.named_parameters():\n            p.requires_grad = True",
]


def result(before: str = "pass", first: str = "pass", after: str = "pass") -> Result:
    return convert(SCRIPT.format(before=before, first=first, after=after))


def errors(found: Result) -> list[str]:
    return [finding.code for finding in found.findings if finding.level is Level.ERROR]


@pytest.mark.parametrize("after", UNFREEZE)
def test_the_wrap_knows_frozen_parameters_that_learn_later(after: str) -> None:
    found = result(before=FREEZE, after=after)
    assert found.outcome is Outcome.CONVERTED
    assert "    model = wrap_thawed(model)\n" in found.text


def test_the_wrap_cannot_know_them_with_reentrant_checkpoints() -> None:
    first = "h = torch.utils.checkpoint.checkpoint(model.body, torch.randn(2, 3))"
    found = result(before=FREEZE, first=first, after=UNFREEZE[0])
    assert found.outcome is Outcome.REFUSED
    assert errors(found) == ["PT309"]


def test_parts_in_lists_are_parts() -> None:
    group = "for part in [model.head, model.body]:\n        for p in part.parameters():\n"
    group += "            p.requires_grad = epoch > 0"
    found = result(before=FREEZE, first=group)
    assert found.outcome is Outcome.CONVERTED
    assert "    model = wrap_thawed(model)\n" in found.text


@pytest.mark.parametrize("before", ["pass", FREEZE])
def test_what_stays_as_it_is_does_no_harm(before: str) -> None:
    found = result(before=before)
    assert found.outcome is Outcome.CONVERTED
    assert "find_unused_parameters" not in found.text


def test_what_learnt_may_be_unfrozen_again() -> None:
    found = result(after="model.switch(True)")
    assert found.outcome is Outcome.CONVERTED


def test_a_part_that_is_frozen_later_is_unused_from_then_on() -> None:
    found = result(after=FREEZE)
    assert found.outcome is Outcome.CONVERTED
    assert "DistributedDataParallel(model, find_unused_parameters=True)" in found.text
