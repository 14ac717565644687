"""What models of MXNet and Paddle keep, in their forward passes, of a share of every batch."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

MXNET = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


class Layer(gluon.Block):
    def __init__(self):
        super().__init__()
        self.mean = self.params.get("mean", shape=(3,), init="zeros", grad_req="null")
        self.scale, self.rows, self.calls, self.seen, self.width = 1.0, 0, 0, [], None

    def forward(self, x):
        {inside}
        return x / self.scale


net = gluon.nn.Sequential()
net.add(Layer(), gluon.nn.Dense(1))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
data = gluon.data.ArrayDataset(np.zeros((64, 3)), np.zeros(64))
for x, y in gluon.data.DataLoader(data, batch_size=8):
    with autograd.record():
        loss = gluon.loss.L2Loss()(net(x), y)
    loss.backward()
    trainer.step(8)
"""
PADDLE = """\
import paddle
import paddle.nn as nn


class Layer(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", paddle.zeros([3]))
        self.scale, self.rows, self.calls, self.seen, self.width = 1.0, 0, 0, [], None

    def forward(self, x):
        {inside}
        return x / self.scale


net = nn.Sequential(Layer(), nn.Linear(3, 1))
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
data = paddle.io.TensorDataset([paddle.zeros([64, 3])])
for (x,) in paddle.io.DataLoader(data, batch_size=8):
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
BOTH = [
    "self.scale = 0.8 * self.scale + 0.2 * float(abs(x).mean())",
    "self.rows += x.shape[0]",
    "m = x.mean(0)\n        self.scale, self.calls = 0.9 * self.scale + 0.1 * m, self.calls + 1",
    "self.seen.append(x.mean())",
]
HARMLESS = [
    "self.calls += 1",
    "if self.width is None:\n            self.width = x.shape[1]",
    "self.last = x",
    "self.seen = []\n        self.seen.append(x)",
    "kept = []\n        kept.append(x)",
]


def codes(text: str, options: Options | None = None) -> set[str]:
    return {finding.code for finding in convert(text, options).findings}


@pytest.mark.parametrize("inside", [*BOTH, "self.mean.set_data(x.mean(0))"])
def test_what_networks_of_mxnet_keep_of_samples_is_told(inside: str) -> None:
    script = MXNET.format(inside=inside)
    assert "MX415" in codes(script)
    split = convert(script, Options(shard="calls"))
    assert split.outcome is Outcome.REFUSED and "MX352" in {one.code for one in split.findings}


@pytest.mark.parametrize("inside", [*BOTH, "self.mean.set_value(0.8 * self.mean + x.mean(0))"])
def test_what_models_of_paddle_keep_of_samples_is_told(inside: str) -> None:
    assert "PD415" in codes(PADDLE.format(inside=inside), Options(shard="data"))


@pytest.mark.parametrize("inside", HARMLESS)
@pytest.mark.parametrize(("script", "code"), [(MXNET, "MX415"), (PADDLE, "PD415")])
def test_what_holds_nothing_for_the_next_call_is_not(script: str, code: str, inside: str) -> None:
    assert code not in codes(script.format(inside=inside), Options(shard="data"))
