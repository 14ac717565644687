"""Calls that nest deeply are followed, or refused with a reason; they never end in a crash."""

from __future__ import annotations

import pytest

from transpile import Level, Outcome, Result, convert

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step0(x, y, model, optimizer):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
LINK = """\


def step{number}(x, y, model, optimizer):
    {inner}
"""
TAIL = """\


for epoch in range(2):
    for x, y in loader:
        step{number}(x, y, model, optimizer)
"""
NESTED = """\
for again in range(1):
        if again < 3:
            with torch.enable_grad():
                try:
                    while x is not None:
                        if y is not None:
                            with torch.autograd.set_detect_anomaly(True):
                                {call}
                finally:
                    pass"""


def chain(length: int, nested: bool = False) -> Result:
    """A script whose steps are that many calls away, each perhaps deep in its function."""
    script = HEAD
    for number in range(1, length + 1):
        call = f"step{number - 1}(x, y, model, optimizer)"
        script += LINK.format(number=number, inner=NESTED.format(call=call) if nested else call)
    return convert(script + TAIL.format(number=length))


def test_a_chain_of_calls_is_followed() -> None:
    assert chain(30).outcome is Outcome.CONVERTED


@pytest.mark.parametrize(("length", "nested"), [(60, False), (35, True), (200, True)])
def test_what_nests_too_deeply_is_refused(length: int, nested: bool) -> None:
    result = chain(length, nested)
    assert result.outcome is Outcome.REFUSED
    assert [(f.code, f.level) for f in result.findings] == [("DT001", Level.ERROR)]
    assert "nest too deeply" in result.findings[0].message


def test_a_trainer_that_calls_itself_is_followed() -> None:
    again = "    if x is None:\n        return step0(y, x, model, optimizer)\n"
    script = HEAD.replace("optimizer):\n", "optimizer):\n" + again)
    result = convert(script + TAIL.format(number=0))
    assert result.outcome is Outcome.CONVERTED
