"""Losses in which the samples of a batch depend on each other are pointed out."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = """\
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as layers


def rows():
    rng = np.random.RandomState(0)
    for _ in range(96):
        yield rng.rand(8).astype("float32"), rng.rand(1).astype("float32")


x = fluid.layers.data(name="x", shape=[8], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
{loss}
fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
for batch in paddle.batch(rows, batch_size=12)():
    exe.run(feed=feeder.feed(batch), fetch_list=[loss])
"""

COUPLED = {
    "reshape": """\
h = layers.fc(x, 4)
h = layers.reshape(h, shape=[-1, 3, 4])
a, p, n = layers.split(h, num_or_sections=3, dim=1)
loss = layers.mean(layers.relu(layers.square(a - p) - layers.square(a - n)))
""",
    "puts several": """\
h = layers.fc(x, 4)
h = layers.reshape(h, shape=[-1, 2, h.shape[1]])
loss = layers.mean(layers.square(h))
""",
    "mul of two batches": """\
h = layers.fc(x, 4)
loss = layers.mean(layers.square(layers.mul(h, layers.transpose(h, perm=[1, 0]))))
""",
    "matmul of two batches": """\
h = layers.fc(x, 4)
loss = layers.mean(layers.matmul(h, h, transpose_y=True))
""",
    "slice along": """\
h = layers.fc(x, 1)
first = layers.slice(h, axes=[0], starts=[0], ends=[1])
loss = layers.mean(layers.square_error_cost(h, y)) + layers.mean(layers.square(first))
""",
    "split along": """\
one, other = layers.split(layers.fc(x, 4), num_or_sections=2, dim=0)
loss = layers.mean(layers.square(one - other))
""",
    "reduce_mean over": """\
h = layers.fc(x, 4)
h = layers.elementwise_sub(h, layers.reduce_mean(h, dim=0), axis=1)
loss = layers.mean(layers.square(h))
""",
    "reduce_sum over": """\
cost = layers.square_error_cost(layers.fc(x, 1), y)
loss = layers.mean(cost / layers.reduce_sum(y))
""",
    "topk along": """\
cost = layers.reshape(layers.square_error_cost(layers.fc(x, 1), y), [-1])
values, places = layers.topk(cost, k=4)
loss = layers.mean(values)
""",
    "softmax along": """\
h = layers.softmax(layers.fc(x, 1), axis=0)
loss = layers.mean(layers.square_error_cost(h, y))
""",
    "cumsum along": "loss = layers.mean(layers.cumsum(layers.fc(x, 1), axis=0))\n",
    "reverse along": """\
h = layers.fc(x, 4)
loss = layers.mean(layers.square(h - layers.reverse(h, axis=0)))
""",
    "every two samples": """\
h = layers.fc(x, 4)
rows = layers.expand(layers.unsqueeze(h, [0]), [12, 1, 1])
loss = layers.mean(layers.square(layers.elementwise_sub(layers.unsqueeze(h, [1]), rows)))
""",
    "what this function makes": """\
h = layers.fc(x, 1)
block = fluid.default_main_program().current_block()
out = block.create_var(name="out", dtype="float32", shape=h.shape)
layers.py_func(func=lambda rows: np.array(rows) - np.array(rows).mean(), x=h, out=out)
loss = layers.mean(layers.square_error_cost(h, y))
""",
}

APART = {
    "plain": "loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))\n",
    "mean of means": """\
loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
other = layers.mean(layers.square(layers.fc(x, 4)))
loss = layers.mean(loss + other)
""",
    "mean, then sum": """\
cost = layers.reduce_mean(layers.square(layers.fc(x, 4)), dim=[0])
loss = layers.reduce_sum(cost)
""",
    "rows and back": """\
h = layers.reshape(x, shape=[-1, 2])
h = layers.reshape(layers.fc(h, 4), shape=[-1, 16])
loss = layers.mean(layers.square_error_cost(layers.fc(h, 1), y))
""",
    "attention": """\
q = layers.reshape(layers.fc(x, 8), shape=[0, 2, 4])
k = layers.reshape(layers.fc(x, 8), shape=[0, 2, 4])
weights = layers.softmax(layers.matmul(q, k, transpose_y=True))
loss = layers.mean(weights)
""",
    "a parameter's rows": """\
w = layers.create_parameter([20, 8], "float32")
loss = layers.mean(layers.fc(x, 1)) + layers.mean(layers.slice(w, axes=[0], starts=[0], ends=[1]))
""",
    "other axes": """\
h = layers.fc(x, 4)
h = layers.concat([layers.slice(h, axes=[1], starts=[0], ends=[2]), h], axis=1)
loss = layers.mean(layers.softmax(layers.cumsum(h)))
""",
}


def converted(loss: str) -> Result:
    return convert(SCRIPT.replace("{loss}\n", loss))


@pytest.mark.parametrize(("what", "loss"), COUPLED.items(), ids=list(COUPLED))
def test_losses_that_couple_samples_are_pointed_out(what: str, loss: str) -> None:
    result = converted(loss)
    assert result.outcome is Outcome.CONVERTED
    assert any(f.code == "FL303" and what in f.message for f in result.findings), result.findings


@pytest.mark.parametrize("loss", APART.values(), ids=list(APART))
def test_losses_of_samples_by_themselves_are_not(loss: str) -> None:
    result = converted(loss)
    assert result.outcome is Outcome.CONVERTED
    assert not any(f.code == "FL303" for f in result.findings), result.findings


@pytest.mark.parametrize("layer", ["gather", "gather_nd"])
def test_rows_that_are_chosen_by_what_is_fed_are_refused(layer: str) -> None:
    loss = f"""\
places = layers.data(name="places", shape=[1], dtype="int32")
h = layers.{layer}(layers.fc(x, 4), layers.reshape(places, [-1]))
loss = layers.mean(h)
"""
    result = converted(loss)
    assert result.outcome is Outcome.REFUSED
    assert [f.code for f in result.findings if f.level.label == "error"] == ["FL310"]


def test_rows_that_the_program_chooses_are_not() -> None:
    loss = """\
h = layers.fc(x, 4)
places = layers.where(layers.greater_than(y, layers.fill_constant([1], "float32", 0.5)))
loss = layers.mean(layers.gather_nd(h, places))
"""
    assert converted(loss).outcome is Outcome.CONVERTED


def test_a_loss_added_to_itself_is_read_once() -> None:
    # Without a memory of what was read this takes two to the power of 28 looks.
    doubled = "loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))\n"
    result = convert(SCRIPT.format(loss=doubled + "loss = loss + loss\n" * 28))
    assert result.outcome is Outcome.CONVERTED and not result.findings
