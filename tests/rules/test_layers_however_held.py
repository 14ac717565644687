"""Own layers of Paddle and MXNet, however a model holds and calls them, are looked into."""

from __future__ import annotations

import pytest
from data_way import convert

PADDLE = """\
import functools
import types
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Own(nn.Layer):
    def forward(self, x):
        return x - x.mean({axis}, keepdim=True)


class Calls(nn.Layer):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


def centred(x, axis):
    return x - x.mean(axis, keepdim=True)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.c, self.b = nn.Linear(5, 8), Own(), nn.Linear(8, 4)

    def forward(self, x):
        {pass_}
        return x


class Held(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = nn.LayerDict({{"a": nn.Linear(5, 8), "c": Own()}})
        self.parts["b"] = nn.Linear(8, 4)
        self.more = nn.LayerDict()
        self.more["c"] = Own()

    def forward(self, x):
        {held}
        return x


class Chain(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(5, 8), Own(), nn.Linear(8, 4))


net = {net}
{then}
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
data = paddle.io.TensorDataset([paddle.rand([64, 5]), paddle.randint(0, 4, [64])])
for x, y in paddle.io.DataLoader(data, batch_size=16):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
PASSES = [
    "for part in self.children():\n            x = part(x)",
    "for name, part in self.named_children():\n            x = part(x)",
    "for part in self._sub_layers.values():\n            x = part(x)",
    "for name in self._sub_layers:\n            x = self._sub_layers[name](x)",
]
HELD = [
    'x = self.parts["b"](self.parts["c"](self.parts["a"](x)))',
    "for name, part in self.parts.items():\n            x = part(x)",
    'x = self.parts["b"](self.more["c"](self.parts["a"](x)))',
]
NETS = [
    "Chain()",
    "nn.Sequential(nn.Linear(5, 4), Calls(lambda x: x - x.mean({axis}, keepdim=True)))",
    "nn.Sequential(Calls(F.relu), nn.Linear(5, 8), Calls(Own()), nn.Linear(8, 4))",
    "nn.Sequential(nn.Linear(5, 8), Calls(functools.partial(centred, axis={axis})))",
]


def told(text: str) -> bool:
    return bool({"PD403", "MX314"} & {finding.code for finding in convert(text).findings})


def paddle(axis: int, net: str, pass_: str = "pass", held: str = "pass", then: str = "") -> str:
    net = net.format(axis=axis)
    return PADDLE.format(axis=axis, net=net, pass_=pass_, held=held, then=then)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("pass_", PASSES)
def test_parts_that_a_model_takes_out_of_itself_are_followed(pass_: str, axis: int) -> None:
    assert told(paddle(axis, "Net()", pass_=pass_)) is (axis == 0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("held", HELD)
def test_parts_of_dicts_of_layers_are_followed(held: str, axis: int) -> None:
    assert told(paddle(axis, "Held()", held=held)) is (axis == 0)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("net", NETS)
def test_what_a_layer_of_a_container_calls_is_followed(net: str, axis: int) -> None:
    assert told(paddle(axis, net)) is (axis == 0)


@pytest.mark.parametrize(
    "then",
    [
        "net[1].forward = lambda x: x - x.mean(0)",
        'setattr(net[1], "forward", lambda x: x - x.mean(0))',
        "net[1].forward = types.MethodType(lambda self, x: x - x.mean(0), net[1])",
        "nn.Tanh.forward = lambda self, x: x - x.mean(0)",
        "net[1] = Own()",
    ],
)
def test_a_layer_that_is_replaced_is_told(then: str) -> None:
    net = "nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4))"
    assert told(paddle(0, net, then=then)) and not told(paddle(0, net))


ALONG = """\
import paddle
import paddle.nn as nn


class Mix(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return {call}


net = nn.Sequential(nn.Linear(5, 8), Mix(), nn.Linear(8, 4))
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
data = paddle.io.TensorDataset([paddle.rand([64, {shape}5]), paddle.randint(0, 4, [64])])
for x, y in paddle.io.DataLoader(data, batch_size=16):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
ATTENTION = "nn.MultiHeadAttention(8, 2)"
ROWS = "x.unsqueeze(0).expand([x.shape[0], -1, -1])"


@pytest.mark.parametrize(
    ("layer", "call"),
    [
        (ATTENTION, "self.layer(x.unsqueeze(0)).squeeze(0)"),
        (ATTENTION, f"self.layer(x.unsqueeze(1), {ROWS}, {ROWS}).squeeze(1)"),
        ("nn.TransformerEncoderLayer(8, 2, 16)", "self.layer(x.reshape([1, -1, 8])).squeeze(0)"),
        ("nn.GRU(8, 8)", "self.layer(x.unsqueeze(0))[0].squeeze(0)"),
        ("nn.Conv1D(8, 8, 1)", "self.layer(x.t().unsqueeze(0)).squeeze(0).t()"),
        ("nn.Linear(16, 16)", "self.layer(x.t()).t()"),
    ],
)
def test_layers_that_go_along_the_samples_are_told(layer: str, call: str) -> None:
    assert told(ALONG.format(layer=layer, call=call, shape=""))


@pytest.mark.parametrize(
    ("layer", "call"),
    [
        (ATTENTION, "self.layer(x)[:, 0]"),
        ("nn.GRU(8, 8)", "self.layer(x)[0][:, -1]"),
        ("nn.GRU(8, 8, time_major=True)", "self.layer(x.transpose([1, 0, 2]))[0][-1]"),
        ("nn.Linear(7, 7)", "self.layer(x.transpose([0, 2, 1])).mean(-1)"),
        ("nn.Linear(8, 8)", "self.layer(x.transpose([1, 0, 2]))[0]"),
    ],
)
def test_layers_that_go_along_other_axes_are_not(layer: str, call: str) -> None:
    assert not told(ALONG.format(layer=layer, call=call, shape="7, "))


MXNET = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


class Own(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.broadcast_sub(x, F.expand_dims(mixed(F, x), axis=0))


def mixed(F, x):
    return F.transpose(x).mean(axis={axis})


class Net(gluon.Block):
    def __init__(self):
        super().__init__()
        for part in [nn.Dense(8), Own(), nn.Dense(4)]:
            self.register_child(part)

    def forward(self, x):
        for part in self._children.values():
            x = part(x)
        return x


class Chain(nn.HybridSequential):
    def __init__(self):
        super().__init__()
        self.add(nn.Dense(8))
        self.add(Own())
        self.add(nn.Dense(4))


net = {net}
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
ce = gluon.loss.SoftmaxCrossEntropyLoss()
data = gluon.data.ArrayDataset(np.zeros((64, 5)), np.zeros(64))
for x, y in gluon.data.DataLoader(data, batch_size=16):
    with autograd.record():
        loss = ce(net(x), y)
    loss.backward()
    trainer.step(16)
"""


@pytest.mark.parametrize("net", ["Net()", "Chain()"])
def test_blocks_of_mxnet_are_followed(net: str) -> None:
    assert told(MXNET.format(net=net, axis=1))
    assert not told(MXNET.format(net=net, axis=1).replace("Own()", "nn.Dense(8)"))


BANK = """\
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Bank(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", paddle.zeros([64, 4]))
        self.calls = 0

    def forward(self, f, i):
        loss = F.cross_entropy(paddle.matmul(f, self.kept.clone(), transpose_y=True), i)
        {inside}
        return loss


net, bank = nn.Linear(5, 4), Bank()
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
data = paddle.io.TensorDataset([paddle.rand([64, 5]), paddle.arange(64)])
for x, i in paddle.io.DataLoader(data, batch_size=16):
    loss = bank(net(x), i)
    loss.backward()
    opt.step()
    opt.clear_grad()
"""


@pytest.mark.parametrize(
    ("inside", "kept"),
    [
        ("self.kept.set_value(paddle.scatter(self.kept, i, f.detach()))", True),
        ("self.kept[i] = f.detach()", True),
        ("m = self.kept\n        m[i] = f.detach()", True),
        ("paddle.scatter_(self.kept, i, f.detach())", True),
        ("paddle.assign(paddle.scatter(self.kept, i, f.detach()), output=self.kept)", True),
        ("self.calls += 1", False),
        ("m = paddle.zeros([64, 4])\n        m[i] = f.detach()", False),
    ],
)
def test_what_a_layer_behind_the_loss_keeps_is_told(inside: str, kept: bool) -> None:
    codes = [finding.code for finding in convert(BANK.format(inside=inside)).findings]
    assert ("PD415" in codes) is kept
