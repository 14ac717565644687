"""Evaluation of Paddle scripts that is sharded, or said to be done by every process."""

from __future__ import annotations

from typing import Literal

import pytest
from data_way import convert

from transpile import Options

SCRIPT = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

paddle.seed(1)
train_set = TensorDataset([paddle.randn([48, 4]), paddle.randint(0, 2, [48])])
valid_set = TensorDataset([paddle.randn([21, 4]), paddle.randint(0, 2, [21])])
loader = DataLoader(train_set, batch_size=12)
valid_loader = DataLoader(valid_set, batch_size=5)
model = {model}
metric = paddle.metric.Accuracy()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for epoch in range(2):
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    {mode}
    {before}
    for {target} in {head}:
        {body}
    {after}
"""
PLAIN = {
    "model": "nn.Linear(4, 2)",
    "mode": "model.eval()",
    "before": "right = 0",
    "target": "x, y",
    "head": "valid_loader",
    "body": "right += (model(x).argmax(1) == y).sum().item()",
    "after": "print(right)",
}


def converted(evaluation: Literal["replicate", "shard"], **parts: str) -> tuple[str, list[str]]:
    """The script's conversion, and what is said of its evaluation."""
    data = SCRIPT.format_map({**PLAIN, **parts}).encode()
    result = convert(data, Options(evaluation=evaluation), path="train.py")
    assert result.outcome.value == "converted"
    return result.text, [one.message for one in result.findings if one.code == "PD611"]


def test_a_count_is_put_together_after_the_loop() -> None:
    text, said = converted("shard")
    assert "    for x, y in own_batches(valid_loader):\n" in text
    assert "(unwrap(model)(x).argmax(1) == y)" in text
    assert "    (right,) = sum_totals(right)\n    print_once(right)\n" in text
    assert not said


def test_a_loader_that_is_called_is_called_where_it_is_shared_out() -> None:
    text, said = converted("shard", head="valid_loader()")
    assert "    for x, y in own_batches(valid_loader)():\n" in text
    assert not said


@pytest.mark.parametrize(
    ("before", "body", "together"),
    [
        ("scores = []", "scores.append(model(x).numpy())", "(scores,) = join_lists(scores)"),
        (
            "hits = paddle.zeros([2])",
            "hits += model(x).sum(0)",
            "(hits,) = sum_totals(hits)",
        ),
        (
            "rows = np.empty((0, 2))",
            "rows = np.concatenate([rows, model(x).numpy()])",
            "(rows,) = join_arrays(rows)",
        ),
        (
            "counts = {0: 0, 1: 0}",
            "counts[int(model(x).argmax())] += 1",
            "(counts,) = add_up_counts(counts)",
        ),
    ],
)
def test_what_a_loop_collects_is_put_together(before: str, body: str, together: str) -> None:
    text, said = converted("shard", before=before, body=body, after="print('done')")
    assert f"    {together}\n" in text
    assert not said


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"mode": "pass", "model": "nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5))"}, "mode"),
        ({"body": "metric.update(metric.compute(model(x), y))"}, "'metric' is looked at"),
        ({"body": "right += model(x).sum().item()\n        break"}, "left early"),
        ({"body": "right += model(x).sum().item()\n        print(right)"}, "'right'"),
        ({"before": "right = 5"}, "'right' begins empty or at zero"),
        ({"body": "right += (model(x) + paddle.rand([1])).sum().item()"}, "random numbers"),
    ],
)
def test_every_process_evaluates_everything_and_says_why(
    parts: dict[str, str], reason: str
) -> None:
    text, said = converted("shard", **parts)
    assert "own_batches" not in text
    assert len(said) == 1
    assert reason in said[0]


def test_nothing_is_shared_out_by_default() -> None:
    text, said = converted("replicate")
    assert "own_batches" not in text
    assert not said


METERS = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Meter:
    def __init__(self):
        self.total = 0
        self.count = 0

    def update(self, value, number=1):
        self.total += value * number
        self.count += number


loader = DataLoader(TensorDataset([paddle.randn([48, 4]), paddle.randn([48, 1])]), batch_size=12)
model = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
losses, errors = Meter(), Meter()
for x, y in loader:
    out = model(x)
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.update(loss.item(), x.shape[0])
    errors.update(float(nn.functional.l1_loss(out, y)), x.shape[0])
print(losses.total / losses.count, errors.total / errors.count)
"""


def test_a_meter_of_several_numbers_takes_them_over_the_processes_once() -> None:
    text = convert(METERS).text
    assert "self.total += value * number" in text
    assert "losses.update(reduce_mean(loss).item()" in text
    assert "errors.update(float(reduce_mean(nn.functional.l1_loss(out, y)))" in text
