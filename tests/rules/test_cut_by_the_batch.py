"""Samples cut to what the whole batch says, values sought in lists, losses made of numbers."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(64, 8)
net = nn.Linear(1, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
hits = []
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    BODY
    opt.zero_grad()
    loss.backward()
    opt.step()
    AFTER
"""
CUTS = [
    "n = int((xb != 0).sum(1).max())\n    part = xb[:, :n]",
    "n = (xb != 0).sum(1).max()\n    part = xb[:, :n]",
    "part = xb[:, (xb != 0).any(0)]",
]
WHOLE = ["part = xb[:, :4]", "n = xb.size(1) // 2\n    part = xb[:, n:]", "part = xb[:, [0, 2]]"]
LOSS = "loss = F.mse_loss(net(part.mean(1, keepdim=True)), yb)"
PLAIN = "loss = F.mse_loss(net(xb[:, :1]), yb)"


def converted(body: str, after: str = "pass") -> tuple[str, list[str]]:
    """The output of the script, and the codes of its findings."""
    found = convert(SCRIPT.replace("BODY", body).replace("AFTER", after))
    return found.text, [finding.code for finding in found.findings]


@pytest.mark.parametrize("cut", CUTS)
def test_cuts_that_the_share_says_are_told(cut: str) -> None:
    """Each process cut its samples to the longest of its own."""
    assert "PT403" in converted(f"{cut}\n    {LOSS}")[1]


@pytest.mark.parametrize("cut", WHOLE)
def test_cuts_that_are_alike_are_not(cut: str) -> None:
    assert not converted(f"{cut}\n    {LOSS}")[1]


@pytest.mark.parametrize("asked", ["hits.count(True)", "hits.count(True) / len(hits)"])
def test_values_sought_among_samples_are_told(asked: str) -> None:
    after = f"hits.extend((xb[:, 0] > 0).tolist())\n    print({asked})"
    assert "PT603" in converted(PLAIN, after)[1]


def test_values_sought_among_others_are_not() -> None:
    assert not converted(PLAIN, 'print(["a", "b"].count("a"))')[1]


@pytest.mark.parametrize(
    "loss",
    [
        "F.mse_loss(net(xb[:, :1]), yb - shift)",
        "F.mse_loss(net(xb[:, :1]), yb / shift)",
        "(F.mse_loss(net(xb[:, :1]), yb, reduction='none') - shift).mean()",
    ],
)
def test_a_loss_that_holds_a_number_of_all_is_still_of_a_share(loss: str) -> None:
    """It was taken for one of all processes, as the number in it is reduced."""
    body = f"shift = yb.abs().mean().item()\n    loss = {loss}"
    text, codes = converted(body, "print(loss.item())")
    assert "shift = reduce_mean(yb.abs().mean()).item()" in text
    assert "loss_mean = reduce_mean(loss)" in text
    assert not codes
