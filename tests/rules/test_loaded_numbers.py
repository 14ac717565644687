"""State that is made of each process's own numbers before it is loaded."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, x[:, :1]), batch_size=8)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
for epoch in range(3):
    for a, b in loader:
        loss = ((model(a) - b) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        last = loss.item()
    {load}
"""
OWN = {
    "optimizer": """state = opt.state_dict()
    state["param_groups"][0]["lr"] = 0.05 / (1 + last)
    opt.load_state_dict(state)""",
    "model": "model.load_state_dict({k: v / (1 + last) for k, v in model.state_dict().items()})",
    "scheduler": """state = sched.state_dict()
    state["base_lrs"] = [0.05 / (1 + last)]
    sched.load_state_dict(state)""",
}
EQUAL = {
    "copy": "kept = copy.deepcopy(model.state_dict())\n    model.load_state_dict(kept)",
    "file": "torch.save(model.state_dict(), 'm.pt')\n    model.load_state_dict(torch.load('m.pt'))",
    "fixed": "model.load_state_dict({k: 0.9 * v for k, v in model.state_dict().items()})",
    "by epoch": """state = opt.state_dict()
    state["param_groups"][0]["lr"] = 0.05 / (1 + epoch)
    opt.load_state_dict(state)""",
}


@pytest.mark.parametrize("load", OWN.values(), ids=OWN)
def test_state_of_own_numbers_is_refused(load: str) -> None:
    found = convert(SCRIPT.format(load=load))
    assert found.outcome is Outcome.REFUSED
    assert any(each.code == "PT712" and "loaded" in each.message for each in found.findings)


@pytest.mark.parametrize("load", EQUAL.values(), ids=EQUAL)
def test_state_that_is_equal_is_loaded(load: str) -> None:
    found = convert(SCRIPT.format(load=load))
    assert found.outcome is Outcome.CONVERTED
    assert not any(each.code in ("PT712", "PT715") for each in found.findings)
