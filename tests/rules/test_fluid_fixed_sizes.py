"""Sizes of a whole batch in Fluid programs become those of a share, or are refused."""

from __future__ import annotations

import pytest
from data_way import convert
from fluid_scripts import codes, written

from transpile import Options

SCRIPT = """\
import numpy as np
import paddle.fluid as fluid

B = 8
X = np.ones((32, 4), "float32")
x = fluid.data("x", {shape}, "float32")
rows = fluid.layers.fc(x, 1)
{labels}
loss = fluid.layers.mean(fluid.layers.square_error_cost(rows, {label}))
fluid.optimizer.SGD(0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for k in range(0, 32, B):
    exe.run(feed={fed})
{after}
"""
FED = '{"x": X[k : k + B]}'
TESTED = """\
test = fluid.default_main_program().clone(for_test=True)
exe.run(test, feed={"x": X}, fetch_list=[loss])"""


def script(
    shape: str = "[None, 4]",
    labels: str = "labels = fluid.layers.ones([B, 1])",
    label: str = "labels",
    fed: str = FED,
    after: str = "",
) -> str:
    return SCRIPT.format(shape=shape, labels=labels, label=label, fed=fed, after=after)


@pytest.mark.parametrize(
    "labels",
    [
        "labels = fluid.layers.ones([{}, 1])",
        'labels = fluid.layers.fill_constant(shape=[{}, 1], dtype="float32", value=1.0)',
        'labels = fluid.layers.scale(fluid.layers.zeros([{}, 1], "float32"), bias=1.0)',
        'labels = fluid.layers.elementwise_add(rows, fluid.layers.ones([{}, 1], "float32"))',
    ],
)
@pytest.mark.parametrize("size", ["B", "8"])
def test_what_meets_the_rows_of_a_batch_has_those_of_a_share(labels: str, size: str) -> None:
    assert f"[share_size({size}), 1]" in written(script(labels=labels.format(size)))


@pytest.mark.parametrize("size", ["B", "8"])
def test_batches_of_a_declared_size_are_shared_out(size: str) -> None:
    labels = f'labels = fluid.layers.data("y", [{size}, 1], append_batch_size=False)'
    fed = '{"x": X[k : k + B], "y": X[k : k + B, :1]}'
    text = written(script(f"[{size}, 4]", labels, fed=fed))
    assert f'"x", [share_size({size}), 4]' in text
    assert f'"y", [share_size({size}), 1]' in text
    assert f'shard_fixed_feed({fed}, fixed=["x", "y"])' in text


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        ('table = fluid.data("table", [10, 4], "float32")', "rows"),
        ('labels = fluid.layers.data("y", [8], dtype="float32")', "labels"),
        ('labels = fluid.layers.elementwise_add(rows, fluid.layers.ones([1], "float32"))', "rows"),
        ('wide = fluid.layers.fc(x, 8) + fluid.layers.ones([8], "float32")', "rows"),
        (
            "labels = fluid.layers.elementwise_add(fluid.layers.fc(x, 8), "
            'fluid.layers.ones([8], "float32"))',
            "labels",
        ),
    ],
)
def test_other_sizes_stay(labels: str, label: str) -> None:
    assert "share_size" not in written(script(labels=labels, label=label))


@pytest.mark.parametrize(
    "changed",
    [
        script(labels='table = fluid.data("table", [8, 4], "float32")', label="rows"),
        script(after=TESTED),
        script(labels="size = [B, 1]\nlabels = fluid.layers.ones(size)"),
    ],
)
def test_what_cannot_be_made_a_share_is_refused(changed: str) -> None:
    (refusal,) = [one for one in convert(changed, Options()).findings if one.code == "FL202"]
    assert "each trainer has a share" in refusal.message


def test_whole_batches_for_each_trainer_need_no_shares() -> None:
    assert "FL202" in codes(script(), batch_size="per-device")
    assert "share_size" not in convert(script(), Options(batch_size="per-device")).text


@pytest.mark.parametrize(
    "rows",
    [
        'fluid.layers.reshape(fluid.layers.range(0, 8, 1, "float32"), [8, 1])',
        'fluid.layers.assign(np.arange(8).reshape(8, 1).astype("float32"))',
        'fluid.layers.assign(np.arange(8).reshape((8, 1)).astype("float32")) / 8.0',
    ],
)
@pytest.mark.parametrize("met", ["rows * weights", "fluid.layers.elementwise_mul(rows, weights)"])
def test_rows_that_differ_and_are_as_many_as_the_batch_are_refused(rows: str, met: str) -> None:
    labels = f"weights = {rows}\nlabels = {met}"
    assert "FL202" in codes(script(labels=labels))
    assert "FL202" not in codes(script(labels=labels.replace("8, 1", "1, 1").replace("(8", "(1")))


def test_rows_that_are_fed_beside_a_reader_are_divided_with_the_batch() -> None:
    text = """\
import numpy as np
import paddle
import paddle.fluid as fluid


def rows():
    for i in range(64):
        yield [i / 64.0], [i / 32.0]


x = fluid.layers.data("x", [1], dtype="float32")
y = fluid.layers.data("y", [1], dtype="float32")
w = fluid.layers.data("w", [1], dtype="float32")
costs = fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y) * w
fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(costs))
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
for batch in paddle.batch(rows, 8)():
    exe.run(feed={})
"""
    weights = "np.arange(8, dtype='float32').reshape(8, 1)"
    plain = "'x': np.array([r[0] for r in batch]), 'y': np.array([r[1] for r in batch])"
    divided = text.replace("feed={}", f"feed={{{plain}, 'w': {weights}}}")
    assert "shard_feed({'x'" in written(divided)
    fed = text.replace("feed={}", f"feed=dict(feeder.feed(batch), w={weights})")
    assert "FL202" in codes(fed)
