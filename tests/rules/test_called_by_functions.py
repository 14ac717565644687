"""Models that a function calls with parameters of its own: the reason names it."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    loss = 0.0
    for task in range(3):
        x = torch.rand(12, 1) * 4 - 2
        y = torch.sin(torch.rand(1) * 2 * x)
        slow = dict(model.named_parameters())
        {inner}
        loss = loss + nn.functional.mse_loss({call}, y[6:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
ADAPTED = """\
first = nn.functional.mse_loss(functional_call(model, slow, (x[:6],)), y[:6])
        taken = torch.autograd.grad(first, list(slow.values()), create_graph=True)
        slow = {k: p - 0.1 * g for (k, p), g in zip(slow.items(), taken)}"""


@pytest.mark.parametrize("inner", ["pass", ADAPTED], ids=["plain", "adapted"])
def test_what_calls_it_is_named(inner: str) -> None:
    script = SCRIPT.format(inner=inner, call="functional_call(model, slow, (x[6:],))")
    result = convert(script, Options(shard="calls"))
    assert result.outcome is Outcome.REFUSED
    (found,) = [one for one in result.findings if one.code == "PT352"]
    assert "'functional_call' calls it with parameters that it is given" in found.message


def test_a_model_that_is_called_is_split() -> None:
    result = convert(SCRIPT.format(inner="pass", call="model(x[6:])"), Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED and "SplitCalls(model)" in result.text
