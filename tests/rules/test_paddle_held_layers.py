"""Own layers within Paddle's containers: what they do across samples is told."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import paddle
import paddle.nn as nn

paddle.seed(1)
X = paddle.rand([32, 3])


class Own(nn.Layer):
    def __init__(self):
        super().__init__()
        self.seen = 0
        self.scale = 1.0
        self.fc = nn.Linear(3, 3)
        self.register_buffer("level", paddle.zeros([3]))

    def forward(self, x):
        {forward}


net = nn.Sequential(Own(), nn.Linear(3, 1))
opt = paddle.optimizer.SGD(0.1, parameters=net.parameters())
for (x,) in paddle.io.DataLoader(paddle.io.TensorDataset([X]), batch_size=8):
    loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
"""
MIXING = {
    "mean of the batch": "return x - x.mean(0)",
    "softmax along the batch": "return x * nn.functional.softmax(x, axis=0)",
    "function": "h = self.fc(x)\n        return h / paddle.max(h)",
    "running mean": "self.level.set_value(0.8 * self.level + 0.2 * x.mean(0))\n"
    "        return x - self.level",
    "running scale": "self.scale = 0.9 * self.scale + 0.1 * float(x[0].sum())\n"
    "        return x / self.scale",
    "rows that it has seen": "self.seen += x.shape[0]\n        return x / (1 + self.seen)",
}
APART = {
    "row by row": "return x - x.mean(1, keepdim=True)",
    "last axis": "return nn.functional.softmax(self.fc(x), axis=-1)",
    "most of each": "return x / x.max(axis=[-1], keepdim=True)",
    "calls that it has seen": "self.seen += 1\n        return self.fc(x)",
    "what it has seen last": "self.last = self.fc(x)\n        return self.last",
}


@pytest.mark.parametrize("forward", MIXING.values(), ids=MIXING)
def test_what_mixes_samples_is_told(forward: str) -> None:
    found = convert(SCRIPT.format(forward=forward))
    told = [one for one in found.findings if one.code == "PD403"]
    assert len(told) == 1 and "'Own'" in told[0].message


@pytest.mark.parametrize("forward", APART.values(), ids=APART)
def test_what_keeps_samples_apart_is_not(forward: str) -> None:
    found = convert(SCRIPT.format(forward=forward))
    assert "PD403" not in [one.code for one in found.findings]


LISTED = """\
class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = nn.LayerList([Own(), nn.Linear(3, 1)])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


net = Net()
"""


@pytest.mark.parametrize("name", ["mean of the batch", "softmax along the batch", "row by row"])
def test_layers_of_a_list_are_looked_at(name: str) -> None:
    forward = {**MIXING, **APART}[name]
    script = SCRIPT.format(forward=forward)
    script = script.replace("net = nn.Sequential(Own(), nn.Linear(3, 1))\n", LISTED)
    told = "PD403" in [one.code for one in convert(script).findings]
    assert told is (name in MIXING)
