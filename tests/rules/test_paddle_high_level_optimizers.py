"""What the optimizer of a high-level model of Paddle updates beside its network."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import paddle
from paddle import nn
from paddle.io import TensorDataset

data = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


class Loss(nn.Layer):
    def __init__(self):
        super().__init__()
        self.heat = self.create_parameter([1])

    def forward(self, scores, labels):
        return nn.functional.cross_entropy(scores * self.heat, labels)


network, loss = Net(), Loss()
heat = paddle.create_parameter([1], "float32")
model = paddle.Model(network)
optimizer = paddle.optimizer.SGD(0.1, parameters={given})
model.prepare(optimizer, loss)
model.fit(data, batch_size=16, epochs=2, verbose=0)
"""


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ("network.parameters()", False),
        ("model.parameters()", False),
        ("network.head.parameters()", False),
        ("network.body.parameters() + network.head.parameters()", False),
        ("[{'params': network.parameters(), 'learning_rate': 0.5}]", False),
        ("network.parameters() + [heat]", True),
        ("network.parameters() + loss.parameters()", True),
        ("[*network.parameters(), loss.heat]", True),
    ],
)
def test_gradients_that_paddle_does_not_average_are_refused(given: str, refused: bool) -> None:
    result = convert(SCRIPT.format(given=given), path="train.py")
    errors = [one for one in result.findings if one.level.label == "error"]
    assert bool(errors) == refused
    assert all(one.code == "PD902" and "no part of the network" in one.message for one in errors)
