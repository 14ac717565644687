"""Losses of Paddle that add a sum over the batch to something else, in all that they may be."""

from __future__ import annotations

import pytest

from transpile import Result, convert

SCRIPT = """\
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

data = TensorDataset([paddle.randn([48, 4]), paddle.randn([48, 1])])
model = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
criterion = nn.MSELoss(reduction="sum")


def objective(x, y):
    return criterion(model(x), y) + 0.1 * sum(p.norm() for p in model.parameters())


for x, y in DataLoader(data, batch_size=12):
    mean = nn.functional.mse_loss(model(x), y)
    penalty = sum((p**2).sum() for p in model.parameters())
    {loss}
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print(loss.item())
{after}
"""
WORLD = "dist.get_world_size()"


def result(loss: str, after: str = "") -> Result:
    return convert(SCRIPT.format(loss=loss, after=after))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (
            "loss = criterion(model(x), y) + 0.1 * penalty",
            f"loss = criterion(model(x), y) * {WORLD} + 0.1 * penalty",
        ),
        (
            "loss = mean - criterion(model(x), y)",
            f"loss = mean - criterion(model(x), y) * {WORLD}",
        ),
        (
            "loss = criterion(model(x), y) + criterion(model(x), y) + penalty",
            f"loss = (criterion(model(x), y) + criterion(model(x), y)) * {WORLD} + penalty",
        ),
        (
            "loss = mean\n    loss += criterion(model(x), y)",
            f"loss += criterion(model(x), y) * {WORLD}",
        ),
        ("loss = objective(x, y)", f"return criterion(model(x), y) * {WORLD} + 0.1"),
    ],
)
def test_the_sum_is_multiplied_where_it_is_added(loss: str, expected: str) -> None:
    found = result(loss)
    assert expected in found.text
    assert "    loss.backward()" in found.text
    assert "print_once(reduce_mean(loss).item())" in found.text
    assert not {"PD403", "PD603"} & {one.code for one in found.findings}


def test_what_is_added_in_place_to_a_sum_is_divided() -> None:
    loss = "loss = criterion(model(x), y)\n    for p in model.parameters():\n"
    found = result(loss + "        loss += 0.1 * p.norm() + 0.01")
    assert f"loss += (0.1 * p.norm() + 0.01) / {WORLD}" in found.text
    assert f"(loss * {WORLD}).backward()" in found.text
    assert "reduce_sum(loss).item()" in found.text


def test_what_evaluates_whole_batches_by_the_same_sum_is_warned_of() -> None:
    found = result("loss = objective(x, y)", "print(objective(data[:][0], data[:][1]).item())")
    assert "criterion(model(x), y) + 0.1" in found.text
    (said,) = (one.message for one in found.findings if one.code == "PD403")
    assert "1/N of its weight" in said


def test_a_loss_is_looked_at_in_all_that_it_may_be() -> None:
    loss = "loss = mean\n    if len(data) > 5:\n        loss = criterion(model(x), y)"
    assert "PD403" in {one.code for one in result(loss).findings}
