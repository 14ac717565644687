"""Layers and losses that stand beside models and go along the samples, and patched layers."""

from __future__ import annotations

from typing import Literal

import pytest

from transpile import Options, Outcome, convert

Way = Literal["auto", "data", "calls"]
SCRIPT = """\
import types
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 6), torch.randn(64))
loader = DataLoader(data, batch_size=16)
model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 4))
{ahead}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
torch.save(model.state_dict(), "model.pt")
"""


def findings(ahead: str, loss: str, way: Way, after: str = "pass") -> dict[str, str]:
    """The level of each code."""
    text = SCRIPT.format(ahead=ahead, loss=loss, after=after)
    result = convert(text, Options(shard=way))
    assert result.outcome in (Outcome.CONVERTED, Outcome.REFUSED), result.findings
    return {one.code: one.level.name for one in result.findings}


@pytest.mark.parametrize(
    ("ahead", "loss"),
    [
        ("layer = nn.Softmax(dim=0)", "layer(out).pow(2).mean()"),
        ("layer = nn.Softmax()", "layer(out[:, 0]).pow(2).mean()"),
        ("layer = nn.LogSoftmax(0)", "layer(out).pow(2).mean()"),
        ("layer = nn.Conv1d(4, 4, 3, padding=1)", "layer(out.t()).t().pow(2).mean()"),
        ("layer = nn.AvgPool1d(2)", "layer(out.t()[None])[0].t().pow(2).mean()"),
        ("layer = nn.L1Loss()", "layer(out[:, :1], y)"),
        ("layer = nn.MSELoss()", "layer(out[:, :1], y)"),
    ],
)
def test_what_goes_along_the_samples_is_told(ahead: str, loss: str) -> None:
    """A layer without a model around it is no part of what models are asked for."""
    assert "WARNING" in findings(ahead, loss, "data").values()
    assert findings(ahead, loss, "auto").keys() == {"DT015"}


@pytest.mark.parametrize(
    ("ahead", "loss"),
    [
        ("layer = nn.Softmax(dim=1)", "layer(out).pow(2).mean()"),
        ("layer = nn.Softmax(dim=-1)", "layer(out).pow(2).mean()"),
        ("layer = nn.Conv1d(4, 4, 3, padding=1)", "layer(out[:, :, None]).pow(2).mean()"),
        ("layer = nn.L1Loss()", "layer(out[:, 0], y)"),
        ("layer = nn.MSELoss()", "layer(out.sum(1), y)"),
    ],
)
def test_what_goes_along_other_axes_is_left_alone(ahead: str, loss: str) -> None:
    """Where samples are counted first, these take each by itself."""
    assert findings(ahead, loss, "data") == {}


MEAN = "old = model[0].forward\nmodel[0].forward = lambda x: old(x) - old(x).mean(0)"
KEPT = """\
old, seen = model.forward, []
def counted(self, x):
    seen.append(len(x))
    return old(x)
model.forward = types.MethodType(counted, model)"""


OF_A_LIBRARY = """\
old = nn.Linear.forward
nn.Linear.forward = lambda self, x: old(self, x) - old(self, x).mean(0)"""
BY_NAME = MEAN.replace("model[0].forward = lambda", 'setattr(model[0], "forward", lambda') + ")"


@pytest.mark.parametrize("ahead", [MEAN, KEPT, OF_A_LIBRARY, BY_NAME])
def test_a_forward_that_is_replaced_is_not_that_of_the_class(ahead: str) -> None:
    """What the class does says nothing of the layer then."""
    loss = "(out - y[:, None]).pow(2).mean()"
    assert findings("", loss, "data") == {}
    assert findings(ahead, loss, "data")["PT414"] == "WARNING"
    called = findings(ahead, loss, "auto")
    assert ("PT354" in called) if ahead is not KEPT else ("PT414" in called)


@pytest.mark.parametrize(
    "after",
    ["model.append(nn.Linear(4, 4))", "model.add_module(str(epoch), nn.Linear(4, 4))"],
)
def test_layers_that_are_put_into_a_wrapped_model_are_refused(after: str) -> None:
    """Their gradients are not among those that the wrap averages."""
    loss = "(out - y[:, None]).pow(2).mean()"
    assert findings("", loss, "data", after)["PT312"] == "ERROR"
    assert findings(after.replace("str(epoch)", "'last'"), loss, "data") == {}


def test_a_forward_of_another_layer_is_not_that_of_the_class() -> None:
    """What another layer does may be anything."""
    loss = "(out - y[:, None]).pow(2).mean()"
    ahead = "other = nn.Sequential(nn.Linear(6, 4))\nmodel.forward = other.forward"
    assert findings(ahead, loss, "data")["PT414"] == "WARNING"


def test_a_forward_that_is_only_compiled_is_that_of_the_class() -> None:
    """It does the same, faster."""
    loss = "(out - y[:, None]).pow(2).mean()"
    assert findings("model.forward = torch.compile(model.forward)", loss, "data") == {}


def test_a_method_of_the_models_own_class_puts_no_layer_in() -> None:
    """What its class calls so is something else."""
    ahead = """\
class Bank(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        self.names = []
    def append(self, name):
        self.names.append(name)
    def forward(self, x):
        return self.body(x)
model = Bank()"""
    loss = "(out - y[:, None]).pow(2).mean()"
    assert "PT312" not in findings(ahead, loss, "data", "model.append(str(epoch))")


def test_what_a_model_does_is_said_once() -> None:
    """The loss that is made of it says nothing further."""
    loss = "(out - y[:, None]).pow(2).mean()"
    ahead = "model = nn.Sequential(nn.Linear(6, 4), nn.Softmax(dim=0))"
    assert findings(ahead, loss, "data").keys() == {"PT413"}


def test_a_container_that_holds_itself_where_a_loop_is_run_again_is_followed() -> None:
    text = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        return self.head(x)


net = Net()
for depth in range(2):
    net.head = nn.Sequential(nn.Linear(3, 3), net.head)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(32, 3)), batch_size=8):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
"""
    assert "DT001" not in [each.code for each in convert(text, path="train.py").findings]
