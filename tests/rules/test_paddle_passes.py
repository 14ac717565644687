"""Calls that are given a training loader of Paddle see one process's share of the data."""

from __future__ import annotations

import pytest

from transpile import convert

SCRIPT = """\
import paddle
from elsewhere import calibrate
from paddle.io import DataLoader, TensorDataset

train_set = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])
loader = DataLoader(train_set, batch_size=16)
other = DataLoader(train_set, batch_size=16)
model = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
calibrate(model, @)
for x, y in loader:
    loss = paddle.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(("given", "told"), [("loader", True), ("other", False)])
def test_a_call_that_is_given_the_training_loader_is_named(given: str, told: bool) -> None:
    result = convert(SCRIPT.replace("@", given).encode(), path="train.py")
    assert ("PD216" in {finding.code for finding in result.findings}) == told
