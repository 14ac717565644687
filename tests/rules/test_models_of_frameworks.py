"""What mixes samples, or is not known, in models of Paddle and MXNet has a consequence."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level
from transpile import convert as convert_on_any_way

PADDLE = """\
import elsewhere
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        h = nn.functional.tanh(self.first(x))
        {forward}
        return self.last(h)


data = TensorDataset([paddle.randn([48, 6]), paddle.randn([48, 3])])
model = {model}
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, y in DataLoader(data, batch_size=12):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
MXNET = """\
import elsewhere
import numpy as np
from mxnet import autograd, gluon, nd


class Net(gluon.Block):
    def __init__(self):
        super().__init__()
        self.first = gluon.nn.Dense(8)
        self.last = gluon.nn.Dense(3)

    def forward(self, x):
        h = nd.tanh(self.first(x))
        {forward}
        return self.last(h)


data = gluon.data.ArrayDataset(np.zeros((48, 4)), np.zeros((48, 3)))
model = {model}
model.initialize()
trainer = gluon.Trainer(model.collect_params(), "sgd", {{"learning_rate": 0.1}})
loss_fn = gluon.loss.L2Loss()
for x, y in gluon.data.DataLoader(data, batch_size=12):
    with autograd.record():
        loss = loss_fn(model(x), y)
    loss.backward()
    trainer.step(12)
"""
MIXING = [
    (PADDLE, "h = nn.functional.softmax(h, axis=0)", "softmax"),
    (PADDLE, "h = paddle.sort(h, axis=0)", "sort"),
    (PADDLE, "h = h - h.mean(0)", ""),
    (PADDLE, "h = h + h[:4].mean()", ""),
    (PADDLE, "h = h.sum(1) / h.sum(1, keepdim=True)", ""),
    (PADDLE, "h = paddle.matmul(paddle.matmul(h, h, False, True), h)", ""),
    (PADDLE, "h = paddle.layer_of_tomorrow(h)", "layer_of_tomorrow"),
    (PADDLE, "h = elsewhere.helper(h)", "elsewhere.helper"),
    (MXNET, "h = nd.softmax(h, axis=0)", ""),
    (MXNET, "h = h - h.mean(axis=0)", ""),
    (MXNET, "h = nd.layer_of_tomorrow(h)", ""),
    (MXNET, "h = elsewhere.helper(h)", ""),
]
APART = [
    (PADDLE, "h = nn.functional.softmax(h, axis=1)"),
    (PADDLE, "h = paddle.sort(h, axis=-1)"),
    (PADDLE, "h = h - h.mean(1, keepdim=True)"),
    (PADDLE, "h = nn.functional.dropout(h, 0.1) * h.max(axis=1, keepdim=True)"),
    (PADDLE, "h = h.reshape([x.shape[0], 2, 4]).transpose([0, 2, 1]).flatten(1)"),
    (MXNET, "h = nd.softmax(h)"),
    (MXNET, "h = h - h.mean(axis=1, keepdims=True)"),
    (MXNET, "h = nd.Dropout(h).reshape((0, 2, 4)).flatten()"),
]


@pytest.mark.parametrize(("script", "forward", "word"), MIXING)
def test_what_mixes_samples_or_is_not_known_is_warned_of(
    script: str, forward: str, word: str
) -> None:
    text = script.format(forward=forward, model="Net()")
    warned = [f.message for f in convert(text).findings if f.level is Level.WARNING]
    assert warned and all(word in message for message in warned)
    # With whole batches, the first one shows it.
    assert "DT015" in {finding.code for finding in convert_on_any_way(text).findings}


@pytest.mark.parametrize(("script", "forward"), APART)
def test_what_keeps_samples_apart_is_not(script: str, forward: str) -> None:
    assert not convert(script.format(forward=forward, model="Net()")).findings


@pytest.mark.parametrize(
    ("script", "model", "known"),
    [
        (PADDLE, "elsewhere.Net()", False),
        (PADDLE, "nn.Sequential(nn.Linear(6, 3), elsewhere.Odd())", False),
        (PADDLE, "nn.Sequential(nn.Linear(6, 3), nn.ReLU())", True),
        (PADDLE, "paddle.vision.models.LeNet()", True),
        (MXNET, "elsewhere.Net()", False),
        (MXNET, "gluon.nn.Dense(3)", True),
    ],
)
def test_models_of_unknown_libraries_are_not_taken_to_keep_samples_apart(
    script: str, model: str, known: bool
) -> None:
    found = convert(script.format(forward="pass", model=model)).findings
    doubts = {f.code for f in found if f.level is Level.WARNING} - {"PD307", "MX315"}
    assert (not doubts) is known


OWN_GRADIENT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Centred(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a - a.mean(0)

    @staticmethod
    def backward(ctx, grad):
        return grad - grad.mean(0)


model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(48, 6), torch.randn(48, 3)), batch_size=12):
    optimizer.zero_grad()
    nn.functional.mse_loss(Centred.apply(model(x)), y).backward()
    optimizer.step()
"""


def test_a_function_with_a_gradient_of_its_own_is_not_taken_to_keep_samples_apart() -> None:
    (said,) = (one.message for one in convert(OWN_GRADIENT).findings if one.code == "PT403")
    assert "nothing is known of 'Centred.apply'" in said
    assert "SplitCalls(" in convert_on_any_way(OWN_GRADIENT).text
