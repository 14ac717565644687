"""Calls that are given a training loader of Paddle see one process's share of the data."""

from __future__ import annotations

import pytest
from data_way import convert

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


BY_HAND = """\
import numpy as np
import paddle

data = np.random.rand(96, 4).astype("float32")
model = paddle.nn.Linear(3, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())


def batches():
    for start in range(0, 96, 12):
        yield data[start : start + 12]


for epoch in range(3):
    np.random.shuffle(data)
    order = np.random.permutation(96)
    for {target} in {head}:
        batch = {batch}
        x, y = paddle.to_tensor(batch[:, :3]), paddle.to_tensor(batch[:, 3:])
        loss = paddle.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("target", "head", "batch", "reason"),
    [
        ("i", "range(0, 96, 12)", "data[i : i + 12]", "by index"),
        ("i", "range(0, 96, 12)", "data[order[i : i + 12]]", "by index"),
        ("part", "[data[k : k + 12] for k in range(0, 96, 12)]", "part", "by index"),
        ("part", "batches()", "part", "the generator 'batches'"),
        ("i, part", "enumerate(batches())", "part", "the generator 'batches'"),
        ("i", "range(8)", "data", "no DataLoader can be seen"),
    ],
)
def test_the_reason_says_how_batches_are_made(
    target: str, head: str, batch: str, reason: str
) -> None:
    script = BY_HAND.format(target=target, head=head, batch=batch)
    result = convert(script.encode(), path="train.py")
    (said,) = (one.message for one in result.findings if one.code == "PD203")
    assert reason in said


FITTED = """\
import numpy as np
import paddle
from paddle.io import DataLoader, TensorDataset

data = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])
loader = DataLoader(data, batch_size=16)
other = DataLoader(data, batch_size=15)
network = paddle.nn.Linear(4, 2)
model = paddle.Model(network)
optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
model.prepare(optimizer, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
model.fit(@, epochs=2, verbose=0)
#
"""


@pytest.mark.parametrize(
    ("given", "more", "told"),
    [
        ("loader, other", "", False),
        ("loader, other", "model.evaluate(other, verbose=0)", False),
        ("loader", "model.evaluate(loader, verbose=0)", False),
        ("loader, other", "np.stack(other)", True),
        ("loader", "np.stack(other)", False),
    ],
)
def test_what_paddle_gathers_is_not_named(given: str, more: str, told: bool) -> None:
    text = FITTED.replace("@", given).replace("#", more)
    result = convert(text.encode(), path="train.py")
    assert ("PD216" in {finding.code for finding in result.findings}) == told


@pytest.mark.parametrize(
    ("given", "more", "size"),
    [
        ("loader, other", "", "15 * dist.get_world_size()"),
        ("other", "", "15"),
        ("loader, other", "for x, y in other:\n    network(x)", "15"),
    ],
)
def test_what_is_only_evaluated_need_not_be_divisible(given: str, more: str, size: str) -> None:
    text = FITTED.replace("@", given).replace("#", more)
    result = convert(text.encode(), path="train.py")
    assert f"shard_batches(data, {size})" in result.text
