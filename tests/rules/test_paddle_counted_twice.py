"""Numbers of samples that an attribute tells are those of all processes each time they are read."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import paddle
from paddle.io import DataLoader, TensorDataset

data = TensorDataset([paddle.randn([64, 4]), paddle.randn([64, 1])])
model = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
total = again = seen = 0
for x, y in DataLoader(data, batch_size=16):
    loss = paddle.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    total += loss.item() * {count}
    again += 2 * loss.item() * {count}
    seen += {count}
    print(total / seen, {count})
"""


@pytest.mark.parametrize("count", ["y.size", "len(y)", "y.shape[0]"])
def test_each_count_is_that_of_all_processes(count: str) -> None:
    text = convert(SCRIPT.format(count=count), path="train.py").text
    every = f"{count} * dist.get_world_size()"
    assert f"    seen += {every}\n" in text
    assert f"(total / seen, {every})\n" in text
    assert f"total += reduce_mean(loss).item() * ({every})\n" in text
    assert f"again += 2 * reduce_mean(loss).item() * ({every})\n" in text
