"""Single batches that a high-level model of Paddle trains in a loop of the script."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import numpy as np
import paddle
from paddle.io import DataLoader, TensorDataset

data = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])
loader = DataLoader(data, batch_size=16)
testing = DataLoader(data, batch_size=16)
network = paddle.nn.Sequential(paddle.nn.Linear(4, 2){layer})
model = paddle.Model(network)
optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
model.prepare(optimizer, {loss})
for epoch in range(3):
    for x, y in {drawn}:
        losses = model.train_batch({given})
        {more}
    tested = [model.eval_batch([x], [y])[0] for x, y in testing]
    if np.mean(tested) < 0.1:
        break
"""


def script(**parts: str) -> bytes:
    """The script with some of its parts given."""
    plain = {
        "loss": "paddle.nn.CrossEntropyLoss()",
        "layer": "",
        "drawn": "loader",
        "given": "[x], [y]",
        "more": "",
    }
    return SCRIPT.format_map({**plain, **parts}).encode()


@pytest.mark.parametrize("given", ["[x], [y]", "x, y", "inputs=[x], labels=[y], update=True"])
def test_the_losses_of_shares_are_averaged(given: str) -> None:
    result = convert(script(given=given), path="train.py")
    assert result.findings == ()
    assert f"average_losses(model.train_batch({given}))" in result.text
    assert "shard_batches(data, 16)" in result.text
    assert "[model.eval_batch([x], [y])[0] for" in result.text


def test_noise_is_each_process_s_own_from_the_loop_on() -> None:
    result = convert(script(layer=", paddle.nn.Dropout(0.1)"), path="train.py")
    assert "\nvary_random_numbers()\nfor epoch" in result.text


def test_a_loss_over_weights_is_told() -> None:
    result = convert(script(loss="paddle.nn.CrossEntropyLoss(ignore_index=0)"), path="train.py")
    assert [finding.code for finding in result.findings] == ["PD904"]


STEP = "network(x).mean().backward()"


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"drawn": "[next(iter(testing_set))]"}, "comes from no DataLoader"),
        ({"given": "[x[paddle.randperm(16)]], [y]"}, "no batch of a DataLoader as it was drawn"),
        ({"given": "[x - x.mean(0)], [y]"}, "no batch of a DataLoader as it was drawn"),
        ({"loss": "paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy()"}, "its metrics"),
        ({"loss": "paddle.nn.CrossEntropyLoss(reduction='sum')"}, "a sum over the batch"),
        ({"more": STEP + "\n        optimizer.step()"}, "a loop of the script trains, too"),
    ],
)
def test_what_cannot_be_shared_is_refused_for_what_it_is(parts: dict[str, str], why: str) -> None:
    result = convert(script(**parts), path="train.py")
    assert any(why in one.message for one in result.findings if one.code == "PD902")


def test_a_loader_without_batches_is_not_shared_out() -> None:
    stream = """\
import paddle
from paddle.io import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        for size in (16, 7, 16):
            yield paddle.randn([size, 4])


loader = DataLoader(Stream(), batch_size={size})
net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
for x in loader:
    loss = (net(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
    told = {one.code for one in convert(stream.format(size="None").encode()).findings}
    assert "PD202" in told
    told = {one.code for one in convert(stream.format(size="8").encode()).findings}
    assert "PD202" not in told
