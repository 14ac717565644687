"""Code that no run comes to is pointed at, not passed over."""

from __future__ import annotations

import pytest

from transpile import Level, Outcome, convert

SCRIPT = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(loader, model, optimizer):
    step = 0
    while {test}:
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            step += 1
            if step == 20:
                {leave}
    print("after the loop")
    torch.save(model.state_dict(), "model.pt")


def helper():
    print("never called")


model = nn.Linear(3, 1)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
train(DataLoader(data, batch_size=8), model, torch.optim.SGD(model.parameters(), lr=0.1))
"""


@pytest.mark.parametrize(
    ("test", "leave", "lines"),
    [("True", "sys.exit()", [18]), ("True", "return", [18]), ("step < 20", "return", [])],
)
def test_the_first_call_that_no_run_comes_to(test: str, leave: str, lines: list[int]) -> None:
    result = convert(SCRIPT.format(test=test, leave=leave))
    assert result.outcome is Outcome.CONVERTED
    found = [finding for finding in result.findings if finding.code == "DT011"]
    assert [finding.line for finding in found] == lines
    assert all(finding.level is Level.WARNING for finding in found)


@pytest.mark.parametrize("never", ["if False:\n        print(1)", "print(1) if 0 else None"])
def test_an_arm_that_is_ruled_out_is_no_matter(never: str) -> None:
    source = SCRIPT.format(test="step < 20", leave="return").replace(
        'print("after the loop")', f'print("after the loop")\n    {never}'
    )
    assert "DT011" not in [finding.code for finding in convert(source).findings]
