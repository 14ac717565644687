"""Paddle models are wrapped once, and what the wrap does not see is refused."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level

SCRIPT = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, Dataset


class Sums(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        x = np.random.RandomState(i).rand(3).astype("float32")
        return x, x.sum(keepdims=True)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x))

    def freeze(self, frozen):
        for parameter in self.body.parameters():
            parameter.stop_gradient = frozen


paddle.seed(1)
loader = DataLoader(Sums(), batch_size=8, shuffle=True)
model = Net()
{before}
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())


def step(net, x, y):
    {ready}
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    {noise}
    optimizer.step()
    optimizer.clear_grad()


for epoch in range(3):
    for x, y in loader:
        {batch}
        step(model, x, y)
    {after}
"""
PARTS = dict.fromkeys(("before", "ready", "noise", "batch", "after"), "pass")
NOISE = "[p.grad.add_(paddle.randn(p.shape)) for p in net.parameters()]"


@pytest.mark.parametrize(
    "parts", [{"ready": "net.astype('float32')"}, {"batch": "model.to('cpu')"}]
)
def test_a_model_that_moves_has_its_gradients_averaged(parts: dict[str, str]) -> None:
    text = convert(SCRIPT.format(**{**PARTS, **parts})).text
    assert "    average_gradients(optimizer)\n    optimizer.step()\n" in text
    assert "paddle.DataParallel(model)" not in text


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"before": "model.freeze(True)", "after": "model.freeze(False)"}, "PD310"),
        ({"noise": NOISE}, "PD407"),
    ],
)
def test_what_would_part_the_processes_is_refused(parts: dict[str, str], code: str) -> None:
    found = convert(SCRIPT.format(**{**PARTS, **parts})).findings
    assert [each.code for each in found if each.level is Level.ERROR] == [code]


@pytest.mark.parametrize(
    "parts", [{}, {"before": "model.freeze(True)"}, {"after": "model.freeze(False)"}]
)
def test_the_wrap_stands_before_the_loops(parts: dict[str, str]) -> None:
    text = convert(SCRIPT.format(**{**PARTS, **parts})).text
    assert text.count("    model = paddle.DataParallel(model)\n") == 1
    assert "net = paddle.DataParallel" not in text
