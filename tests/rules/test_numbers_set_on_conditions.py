"""Numbers, rates and optimizers that a condition on a whole batch chooses."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def factor(batch):
    if batch.max() > 2:
        return 2.0
    return 1.0


x = torch.randn(64, 4)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
k, w = 0, 1.0
for epoch in range(3):
    for xb, yb in DataLoader(TensorDataset(x, torch.randint(0, 2, (64,))), batch_size=16):
        loss = nn.functional.cross_entropy(net(xb), yb)
        BODY
        opt.zero_grad()
        loss.backward()
        opt.step()
        AFTER
"""
NUMBERS = {
    "a number": "if xb.max() > 2:\n    w = 2.0\nloss = w * loss",
    "a count": "if xb.max() > 2:\n    k += 1\nloss = loss * (1 + 0.1 * k)",
    "what a function gives": "loss = factor(xb) * loss",
    "an error": (
        "try:\n    assert xb.max() < 2\n    w = 1.0\nexcept AssertionError:\n    w = 2.0\n"
        "loss = loss * w"
    ),
    "a loop": "w = 1.0\nwhile xb.max() * w > 2:\n    w *= 0.5\nloss = loss * w",
    "a match": (
        "match bool(xb.max() > 2):\n    case True:\n        w = 2.0\n    case _:\n"
        "        w = 1.0\nloss = loss * w"
    ),
    "the rate of a new optimizer": (
        "if xb.max() > 2:\n    w = 2.0\nopt = torch.optim.SGD(net.parameters(), lr=0.1 * w)"
    ),
    "any of the samples": (
        "w = 1.0\nfor top in xb.max(1).values.tolist():\n    if top > 2:\n        w = 2.0\n"
        "        break\nloss = loss * w"
    ),
}
ALIKE = {
    "the epoch": "if epoch > 1:\n    w = 2.0\nloss = w * loss",
    "what is printed alone": "if xb.max() > 2:\n    k += 1",
    "each sample": (
        "for top in xb.max(1).values.tolist():\n    if top > 2:\n        w = 2.0\n    print(w)"
    ),
}
RATES = {
    "both rates": (
        'if xb.max() > 2:\n    opt.param_groups[0]["lr"] = 0.3\nelse:\n'
        '    opt.param_groups[0]["lr"] = 0.1'
    ),
    "both optimizers": (
        "if xb.max() > 2:\n    opt = torch.optim.SGD(net.parameters(), lr=0.3)\nelse:\n"
        "    opt = torch.optim.SGD(net.parameters(), lr=0.1)"
    ),
}
SAME_RATE = RATES["both rates"].replace("0.3", "0.1")


def codes(body: str = "pass", after: str = "pass") -> set[str]:
    """The findings of the script with something before and behind its step."""
    indented = [text.replace("\n", "\n        ") for text in (body, after)]
    text = SCRIPT.replace("BODY", indented[0]).replace("AFTER", indented[1])
    return {finding.code for finding in convert(text).findings}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_a_batch_chooses_for_a_loss_are_told(name: str) -> None:
    """A written number has no trace of the condition: each process took its own in silence."""
    assert "PT417" in codes(NUMBERS[name])


@pytest.mark.parametrize("name", ALIKE)
def test_numbers_that_are_alike_or_no_loss_is_made_of_are_not(name: str) -> None:
    assert "PT417" not in codes(ALIKE[name])


@pytest.mark.parametrize("name", RATES)
def test_both_arms_do_something_else_where_they_set_other_rates(name: str) -> None:
    """That both set one was taken for the same thing."""
    assert "PT712" in codes(after=RATES[name])


def test_both_arms_do_the_same_where_they_set_the_same_rate() -> None:
    assert "PT712" not in codes(after=SAME_RATE)
