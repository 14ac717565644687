"""What containers hold before anything is added, also where a loop gives them back to itself."""

from __future__ import annotations

import pytest
from data_way import convert
from single_rule import plan_of

from transpile import Outcome
from transpile.facts.values import External
from transpile.quantity.starts import starts_at_zero

ROUNDS = """\
import torch

held = {start}
for epoch in range(3):
    {step}
    print(held)
"""
SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen, aims = torch.randn(8, 4), torch.randn(8, 1)
losses = []
for epoch in range(3):
    for x, y in DataLoader(data, batch_size=8):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        seen, aims = seen.to("cpu"), aims.to("cpu")
        out = model(seen)
        losses.append(nn.functional.mse_loss(out, aims).to("cpu").item())
        seen, aims = seen.to("cpu"), aims.to("cpu")
    print(losses[-1])
"""


@pytest.mark.parametrize(
    ("start", "step", "zero"),
    [
        ("torch.zeros(3)", "held = held.to('cpu')", True),
        ("torch.zeros(3)", "held = held.to('cpu').view(3)\n    held = held.clone()", True),
        ("torch.ones(3)", "held = held.to('cpu')", False),
        ("torch.ones(3)", "held = held.to('cpu').view(3)\n    held = held.clone()", False),
        ("torch.ones(3)", "held = held * torch.ones(3)\n    held = held.to('cpu')", False),
        ("torch.zeros(3)", "held = held.to('cpu') if epoch else torch.ones(3)", False),
        ("torch.zeros(3)", "held = held + 1\n    held = held.to('cpu')", False),
    ],
)
def test_what_goes_round_a_loop_is_what_it_began_with(start: str, step: str, zero: bool) -> None:
    plan = plan_of(ROUNDS.format(start=start, step=step))
    [shown] = [event for event in plan.facts.calls if External("builtins.print") in event.callee]
    values = shown.arguments.items[0].values
    assert values
    assert all(map(starts_at_zero, values)) is zero


def test_data_that_goes_to_a_device_and_back_in_every_epoch_is_followed() -> None:
    assert convert(SCRIPT).outcome is Outcome.CONVERTED
