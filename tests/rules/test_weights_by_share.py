"""Weights of copies and buffers that are set by numbers of one process's share."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options
from transpile import convert as convert_by

SCRIPT = """\
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(64, 6)
model = nn.Linear(6, 1)
model.register_buffer("level", torch.ones(()))
shadow = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for a, b in DataLoader(TensorDataset(x, x[:, :1]), batch_size=8):
    loss = nn.functional.mse_loss(model(a), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay = {decay}
    with torch.no_grad():
        {write}
print(sum(p.sum() for p in shadow.parameters()).item())
"""
LOOP = "for s, p in zip(shadow.parameters(), model.parameters()):\n            "
WRITES = (
    LOOP + "s.copy_(s * decay + p * (1 - decay))",
    LOOP + "s.mul_(decay).add_(p, alpha=1 - decay)",
    LOOP + "s.lerp_(p, 1 - decay)",
    "shadow.weight.data = shadow.weight.data * decay + model.weight.data * (1 - decay)",
    "model.level.lerp_(torch.as_tensor(decay), 0.5)",
)


@pytest.mark.parametrize("write", WRITES)
def test_they_are_told(write: str) -> None:
    text = SCRIPT.format(write=write, decay="max(0.5, 1 - loss.item() / 10)")
    assert "PT717" in [one.code for one in convert(text).findings]
    assert [one.code for one in convert_by(text, Options()).findings] == ["DT015"]


@pytest.mark.parametrize("write", WRITES)
def test_those_by_a_number_that_is_known_are_not(write: str) -> None:
    text = SCRIPT.format(write=write, decay="0.9")
    assert "PT717" not in [one.code for one in convert(text).findings]


@pytest.mark.parametrize(
    "write",
    [
        "level.mul_(0.8).add_(0.2 * loss.detach())",
        "level.lerp_(loss.detach(), 0.2)",
        "level.data = 0.8 * level.data + 0.2 * loss.detach()",
    ],
)
def test_learning_rates_by_what_is_kept_in_place_are_refused(write: str) -> None:
    text = SCRIPT.format(write=write, decay="0.9").replace(
        "shadow =", "level = torch.ones(())\nshadow ="
    )
    text = text.replace("print(", 'optimizer.param_groups[0]["lr"] = 0.02 * float(level)\nprint(')
    text = text.replace("\noptimizer.param", "\n    optimizer.param")
    assert "PT712" in [one.code for one in convert(text).findings]
    assert [one.code for one in convert_by(text, Options()).findings] == ["DT015"]


AVERAGE = {
    "function": """\
state = {"last": 1.0}


def average(held, new, n):
    k = 1 / (1 + state["last"])
    return held * (1 - k) + new * k


""",
    "object": """\
class Average:
    last = 1.0

    def __call__(self, held, new, n):
        k = 1 / (1 + self.last)
        return held * (1 - k) + new * k


state = average = Average()
""",
}
KEPT = {"function": 'state["last"] = {number}', "object": "state.last = {number}"}


@pytest.mark.parametrize("number", ["loss.item()", "0.9"])
@pytest.mark.parametrize("form", AVERAGE)
def test_averages_of_a_library_by_a_function_are_told(form: str, number: str) -> None:
    made = "torch.optim.swa_utils.AveragedModel(model, avg_fn=average)"
    write = KEPT[form].format(number=number) + "\n        shadow.update_parameters(model)"
    text = SCRIPT.format(write=write, decay="0.9").replace("copy.deepcopy(model)", made)
    text = text.replace("x = torch.randn", AVERAGE[form] + "x = torch.randn", 1)
    told = [one.code for one in convert(text).findings if one.code == "PT717"]
    assert bool(told) is (number != "0.9")
