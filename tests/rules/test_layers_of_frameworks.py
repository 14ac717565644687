"""Layers of Paddle and Gluon that go across samples are told of, and so are those nobody knows."""

from __future__ import annotations

import pytest

from transpile import Level, Options, convert

PADDLE = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset
import paddle.nn.functional as F

paddle.seed(0)
data = TensorDataset([paddle.randn([64, 8]), paddle.randn([64, 2])])
loader = DataLoader(data, batch_size=16, shuffle=True)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.other = {layer}
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.other(self.first(x)))


net = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for epoch in range(2):
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
paddle.save(net.state_dict(), "net.pdparams")
"""
GLUON = """\
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

data = gluon.data.ArrayDataset(nd.random.normal(shape=(64, 8)), nd.random.normal(shape=(64, 2)))
loader = gluon.data.DataLoader(data, batch_size=16, shuffle=True)


class Net(gluon.Block):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(8)
        self.other = {layer}
        self.last = nn.Dense(2)

    def forward(self, x):
        return self.last(self.other(self.first(x)))


net = Net()
net.initialize()
measure = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
for epoch in range(2):
    for x, y in loader:
        with autograd.record():
            loss = measure(net(x), y)
        loss.backward()
        trainer.step(16)
net.save_parameters("net.params")
"""


def warned(text: str) -> str:
    """What is said of a script whose batches are shared out."""
    found = convert(text.encode(), Options(shard="data")).findings
    return " ".join(one.message for one in found if one.level is not Level.NOTE)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("nn.Softmax(axis=0)", "'softmax' looks across the samples"),
        ("nn.Softmax(0)", "'softmax' looks across the samples"),
        ("nn.LogSoftmax(axis=0)", "'log_softmax' looks across the samples"),
        ("nn.GLU(axis=0)", "'glu' looks across the samples"),
        ("nn.Maxout(2, axis=0)", "looks across the samples"),
        ("nn.Sequential(nn.ReLU(), nn.Softmax(axis=0))", "'softmax' looks across the samples"),
        ("nn.Sequential(*[nn.ReLU(), nn.Softmax(axis=0)])", "'softmax' looks across the samples"),
        ("nn.LSTM(8, 8, time_major=True)", "'LSTM' takes the samples for time"),
        ("nn.SomethingNew(3)", "nothing is known of paddle.nn.SomethingNew"),
        ("nn.Sequential(nn.SomethingNew(3))", "nothing is known of paddle.nn.SomethingNew"),
    ],
)
def test_layers_of_paddle_that_cross_samples(layer: str, said: str) -> None:
    assert said in warned(PADDLE.format(layer=layer))


@pytest.mark.parametrize(
    "layer",
    [
        "nn.Softmax()",
        "nn.Softmax(axis=1)",
        "nn.Flatten()",
        "nn.Maxout(2)",
        "nn.LayerNorm(8)",
        "nn.Identity()",
        "nn.Dropout(0.1)",
        "nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Softmax(-1), nn.GELU())",
        "nn.GroupNorm(2, 8)",
    ],
)
def test_layers_of_paddle_that_keep_samples_apart(layer: str) -> None:
    assert warned(PADDLE.format(layer=layer)) == ""


CHAIN = "nn.HybridSequential()\n        self.other.add(nn.Activation('relu'), {})"


@pytest.mark.parametrize(
    "layer",
    [
        "nn.LayerNorm(axis=0)",
        "rnn.LSTM(8)",
        "nn.SomethingNew(3)",
        "nn.Lambda(lambda x: nd.softmax(x, axis=0))",
        CHAIN.format("nn.LayerNorm(axis=0)"),
        CHAIN.format("nn.SomethingNew(3)"),
    ],
)
def test_layers_of_gluon_that_cross_samples(layer: str) -> None:
    assert warned(GLUON.format(layer=layer))


@pytest.mark.parametrize(
    "layer",
    [
        "nn.LayerNorm()",
        "nn.Flatten()",
        "nn.HybridLambda('relu')",
        "rnn.LSTM(8, layout='NTC')",
        "nn.GroupNorm(2)",
        "nn.Dropout(0.1)",
        CHAIN.format("nn.LayerNorm()"),
    ],
)
def test_layers_of_gluon_that_keep_samples_apart(layer: str) -> None:
    assert warned(GLUON.format(layer=layer)) == ""
