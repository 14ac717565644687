"""A loss that does without some outputs of a model in some steps leaves their layers unused."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import random
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return {given}


torch.manual_seed(0)
net = Net()
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for step, (x, y) in enumerate(loader):
        out, aux = net(x)
        {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
BOTH = "self.a(h), self.b(h)"


def searches(loss: str, given: str = BOTH) -> bool:
    """Whether the wrap is told to look for unused parameters."""
    text = SCRIPT.format(given=given, loss=loss.replace("\n", "\n        "))
    result = convert(text, Options(shard="data"), path="train.py")
    assert "net = DistributedDataParallel(net" in result.text
    return "find_unused_parameters=True" in result.text


@pytest.mark.parametrize(
    "loss",
    [
        "loss = F.mse_loss(out, y)\nif step % 2:\n    loss = loss + F.mse_loss(aux, y)",
        "loss = F.mse_loss(out, y)\nif (y > 3).any():\n    loss = loss + F.mse_loss(aux, y)",
        "loss = F.mse_loss(out, y)\nif epoch > 0:\n    loss += F.mse_loss(aux, y)",
        "loss = F.mse_loss(out, y) + (F.mse_loss(aux, y) if epoch else 0.0)",
        "loss = F.mse_loss(out if random.random() < 0.5 else aux, y)",
        "loss = min(F.mse_loss(out, y), F.mse_loss(aux, y))",
        "if step % 2:\n    loss = F.mse_loss(out, y)\nelse:\n    loss = F.mse_loss(aux, y)",
    ],
)
def test_an_output_that_may_be_left_out_is_told(loss: str) -> None:
    assert searches(loss)


@pytest.mark.parametrize(
    ("loss", "given"),
    [
        ("loss = F.mse_loss(out, y) + F.mse_loss(aux, y)", BOTH),
        ("loss = 0.0\nfor one in (out, aux):\n    loss = loss + F.mse_loss(one, y)", BOTH),
        ("loss = sum(F.mse_loss(one, y) for one in (out, aux))", BOTH),
        ("if step == 3:\n    continue\nloss = F.mse_loss(out + aux, y)", BOTH),
        (
            "loss = F.mse_loss(out, y)\nif step % 2:\n    loss = loss + aux.mean()",
            "self.b(self.a.weight * h), self.b(self.a.weight * h * 2)",
        ),
        (
            "loss = F.mse_loss(out, y) + F.mse_loss(aux, y)\n"
            "if step % 2:\n    loss = loss + aux.abs().mean()",
            BOTH,
        ),
    ],
)
def test_outputs_that_every_loss_uses_need_no_search(loss: str, given: str) -> None:
    assert not searches(loss, given)


LISTED = SCRIPT.replace(
    "self.body, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)",
    "self.body = nn.Linear(4, 8)\n"
    "        self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))",
).replace("out, aux = net(x)", "outs = net(x)")
COMPREHENSION = "[head(h) for head in self.heads]"


@pytest.mark.parametrize(
    ("loss", "search"),
    [
        ("loss = F.mse_loss(outs[0], y)", True),
        ("loss = sum(F.mse_loss(one, y) for one in outs[:2]) / len(outs)", True),
        ("loss = F.mse_loss(outs[-1], y)", True),
        ("loss = sum(F.mse_loss(one, y) for one in outs)", False),
        ("loss = F.mse_loss(outs[0], y) + torch.stack(outs).mean()", False),
        ("loss = sum(F.mse_loss(outs[k], y) for k in range(3))", False),
    ],
)
def test_outputs_that_are_taken_out_of_a_list_leave_others(loss: str, search: bool) -> None:
    text = LISTED.format(given=COMPREHENSION, loss=loss)
    result = convert(text, Options(shard="data"), path="train.py")
    assert "net = DistributedDataParallel(net" in result.text
    assert ("find_unused_parameters=True" in result.text) is search
