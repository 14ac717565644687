"""Forward hooks of Paddle's layers and MXNet's blocks, which see one process's share."""

from __future__ import annotations

import pytest

from transpile import Options, convert

PADDLE = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

x = paddle.randn([32, 4])
model = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
kept = []
{hook}
for a, b in DataLoader(TensorDataset([x, x[:, :1]]), batch_size=8):
    loss = nn.functional.mse_loss(model(a), b)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
print(len(kept))
"""
MXNET = """\
import mxnet as mx
from mxnet import autograd, gluon

x = mx.nd.ones((32, 4))
net = gluon.nn.Dense(1)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
kept = []
{hook}
for a, b in gluon.data.DataLoader(gluon.data.ArrayDataset(x, x[:, :1]), 8):
    with autograd.record():
        loss = gluon.loss.L2Loss()(net(a), b)
    loss.backward()
    trainer.step(8)
print(len(kept))
"""


@pytest.mark.parametrize(
    ("script", "hook", "code"),
    [
        (PADDLE, "model.register_forward_post_hook(lambda m, i, o: kept.append(o))", "PD415"),
        (PADDLE, "model.register_forward_pre_hook(lambda m, i: kept.append(i))", "PD415"),
        (MXNET, "net.register_forward_hook(lambda m, i, o: kept.append(o))", "MX415"),
        (MXNET, "net.register_forward_pre_hook(lambda m, i: kept.append(i))", "MX415"),
    ],
)
def test_they_are_told(script: str, hook: str, code: str) -> None:
    found = convert(script.format(hook=hook), Options(shard="data")).findings
    assert code in [one.code for one in found]
    found = convert(script.format(hook="pass"), Options(shard="data")).findings
    assert code not in [one.code for one in found]
