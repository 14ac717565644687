"""What the high-level interface of Paddle shows of one process's share is said to be that."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import paddle
from paddle import nn
from paddle.io import TensorDataset


class History(paddle.callbacks.Callback):
    def on_train_batch_end(self, step, logs=None):
        print(logs["loss"])


data = TensorDataset([paddle.randn([48, 4]), paddle.randn([48, 1])])
model = paddle.Model(nn.Linear(4, 1))
model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), nn.MSELoss())
model.fit(data, batch_size=12, verbose=0{callbacks})
{after}
"""


@pytest.mark.parametrize(
    ("callbacks", "after", "said"),
    [
        ("", "", False),
        (", callbacks=[History()]", "", True),
        ("", "print(model.evaluate(data, batch_size=12, verbose=0))", True),
    ],
)
def test_losses_of_a_share_are_said_to_be_that(callbacks: str, after: str, said: bool) -> None:
    result = convert(SCRIPT.format(callbacks=callbacks, after=after))
    assert ("PD905" in {finding.code for finding in result.findings}) == said


SHAPES = """\
import paddle
from paddle.io import DataLoader, TensorDataset

model = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for (x,) in DataLoader(TensorDataset([paddle.ones([32, 4])]), batch_size=8):
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    {shown}
"""


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("print(x.shape)", True),
        ("print(f'{x.shape}', model(x).shape)", True),
        ("print(x.shape[0], x.shape[1], len(x.shape))", False),
        ("print(model.weight.shape)", False),
    ],
)
def test_shapes_of_a_share_are_said_to_be_that(shown: str, said: bool) -> None:
    result = convert(SHAPES.format(shown=shown))
    assert ("PD604" in {finding.code for finding in result.findings}) == said
