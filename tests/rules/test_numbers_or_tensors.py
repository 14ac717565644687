"""Meters that take numbers and tensors: what they are given is reduced once."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
from collections import defaultdict

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, v, n=1):
        {number}
        self.total += v * n
        self.count += n

    @property
    def avg(self):
        return self.total / self.count


class Log:
    def __init__(self):
        self.meters = defaultdict(Meter)

    def update(self, **given):
        for name, value in given.items():
            {inner}
            self.meters[name].update(value)

    def __getattr__(self, name):
        if name in self.__dict__.get("meters", {{}}):
            return self.meters[name]
        raise AttributeError(name)


net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
meter, log = Meter(), Log()
for xb, yb in DataLoader(TensorDataset(x, x[:, :1] ** 2), batch_size=16):
    loss = nn.functional.mse_loss(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    {update}
print({shown})
"""
FORMS = {
    "asked for its class": "if isinstance(v, torch.Tensor):\n            v = v.item()",
    "asked for a method": 'if hasattr(v, "item"):\n            v = v.item()',
    "otherwise": "if not torch.is_tensor(v):\n            pass\n        else:\n"
    "            v = v.detach().cpu().item()",
    "in an expression": "v = v.item() if isinstance(v, torch.Tensor) else v",
    "turned into a number": "if isinstance(v, torch.Tensor):\n            v = float(v)",
}
WAYS = {
    "one meter": ("pass", "meter.update(loss)", "meter.avg"),
    "by name": ("pass", "log.update(loss=loss)", "log.meters['loss'].avg"),
    "by attribute": ("pass", "log.update(loss=loss)", "log.loss.avg"),
    "asked twice": (
        "if isinstance(value, torch.Tensor):\n                value = value.item()",
        "log.update(loss=loss)",
        "log.meters['loss'].avg",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_meter_takes_is_reduced_once(form: str, way: str) -> None:
    inner, update, shown = WAYS[way]
    script = SCRIPT.format(number=FORMS[form], inner=inner, update=update, shown=shown)
    found = convert(script)
    assert found.outcome is Outcome.CONVERTED, found.findings
    assert [each.code for each in found.findings] == []
    calls = [line for line in found.text.splitlines() if "reduce_" in line and "def " not in line]
    assert len([line for line in calls if "return" not in line]) == 1, calls


def test_what_is_kept_beside_its_number_is_both() -> None:
    """A tensor that goes another way than its number stays what it is."""
    number = "kept = v\n        if isinstance(v, torch.Tensor):\n            v = v.item()"
    script = SCRIPT.format(
        number=number + "\n        self.last = kept",
        inner="pass",
        update="meter.update(loss)",
        shown="meter.avg, meter.last",
    )
    found = convert(script)
    calls = [line for line in found.text.splitlines() if "reduce_" in line and "def " not in line]
    assert len([line for line in calls if "return" not in line]) == 2, calls
