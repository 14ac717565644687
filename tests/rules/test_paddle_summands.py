"""Losses of Paddle that add a sum over the batch to something else, in all that they may be."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Result

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


@pytest.mark.parametrize("made", ["x - x.mean(0)", "x - x.mean()", "x / x.sum()", "x * x.mean()"])
def test_a_batch_that_is_put_together_with_its_mean_is_warned_of(made: str) -> None:
    found = result(f"loss = nn.functional.mse_loss(model({made}), y)")
    (said,) = (one.message for one in found.findings if one.code == "PD403")
    assert "combines single samples with a number for the whole batch" in said


NOISE = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, TensorDataset

SIZE = 12
loader = DataLoader(TensorDataset([paddle.rand([48, 6])]), batch_size=SIZE, drop_last=True)
generator, critic = nn.Linear(4, 6), nn.Linear(6, 1)
optimizer = paddle.optimizer.Adam(1e-3, parameters=generator.parameters())
other = paddle.optimizer.Adam(1e-3, parameters=critic.parameters())
for (real,) in loader:
    loss = critic(generator({noise})).sum()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    (critic(real) ** 2).sum().backward()
    other.step()
    other.clear_grad()
"""


@pytest.mark.parametrize(
    "noise",
    [
        "paddle.randn([SIZE, 4])",
        "paddle.randn([real.shape[0], 4])",
        "paddle.randn(real[:, :4].shape)",
        "paddle.to_tensor(np.random.normal(0, 1, (SIZE, 4)).astype('float32'))",
    ],
)
def test_a_sum_over_noise_for_each_sample_of_the_share_is_scaled(noise: str) -> None:
    found = convert(NOISE.format(noise=noise))
    assert f"(loss * {WORLD}).backward()" in found.text


def test_a_target_made_of_a_number_of_one_share_is_warned_of() -> None:
    loss = "centre = 0.9 * mean + model(x).mean(axis=0)\n    with paddle.no_grad():\n"
    loss += (
        "        target = model(x) - centre\n    loss = nn.functional.mse_loss(model(x), target)"
    )
    found = result(loss)
    assert "PD403" in {one.code for one in found.findings}


def test_the_gradient_of_each_sample_by_itself_is_a_tensor_of_samples() -> None:
    loss = "x.stop_gradient = False\n    slope = paddle.grad(model(x), x, create_graph=True)[0]\n"
    found = result(loss + "    loss = ((slope.norm(axis=1) - 1) ** 2).mean() + mean")
    assert not {"PD403", "PD603"} & {one.code for one in found.findings}
    assert "print_once(reduce_mean(loss).item())" in found.text


def test_targets_that_some_versions_leave_out_are_warned_of() -> None:
    loss = "y[y > 0] = {}\n    loss = nn.functional.cross_entropy(model(x), y)"
    (said,) = (f.message for f in result(loss.format(-100)).findings if f.code == "PD403")
    assert "writes -100" in said
    assert "PD403" not in {one.code for one in result(loss.format(-7)).findings}


def test_noise_for_each_sample_of_the_share_is_summed_over_the_share() -> None:
    loss = "noise = paddle.rand([{}, 3]).sum() * model.weight.sum()\n"
    loss += "    loss = nn.functional.mse_loss(model(x), y) + noise"
    size = 12
    own, other = result(loss.format(size)), result(loss.format(size + 1))
    assert f"+ noise * {WORLD}" in own.text and f"split_batch({size})" in own.text
    assert f"* {WORLD}" not in other.text
