"""Where a Paddle script uses its batch size beside the loader: divided there, too, or refused."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Options, Result

SCRIPT = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import BatchSampler, DataLoader, TensorDataset

{first}
data = TensorDataset([paddle.randn([48, 6]), paddle.randn([48, 6])])
model = nn.Linear(6, 6)
rnn = nn.GRU(6, 6)
parameters = [*model.parameters(), *rnn.parameters()]
optimizer = paddle.optimizer.SGD(0.1, parameters=parameters)


def predict(x, samples):
    return model(paddle.reshape(x, [samples, 6])) + rnn(
        x.reshape([-1, 1, 6]), paddle.zeros([1, samples, 6])
    )[0][:, 0]


for epoch in range(2):
    for x, y in DataLoader(data, {loader}):
        out = predict(x, x.shape[0])
        {batch}
        loss = nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    {after}
"""


def result(
    batch: str,
    first: str = "size = 8",
    loader: str = "batch_size=size",
    after: str = "pass",
    options: Options | None = None,
) -> Result:
    script = SCRIPT.format(batch=batch, first=first, loader=loader, after=after)
    return convert(script, options or Options())


def errors(found: Result) -> list[str]:
    return [finding.code for finding in found.findings if finding.level is Level.ERROR]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("y = y.reshape([size, -1])", "y = y.reshape([split_batch(size), -1])"),
        ("out = out * paddle.ones([size, 1])", "paddle.ones([split_batch(size), 1])"),
        ("out = out * paddle.ones(shape=[size, 1])", "shape=[split_batch(size), 1])"),
        ("out = predict(x, size)", "predict(x, split_batch(size))"),
        (
            "out = out + paddle.to_tensor(np.zeros((size, 6), 'float32'))",
            "np.zeros((split_batch(size), 6), 'float32')",
        ),
        (
            "out = paddle.concat([out, x])[size:] + out",
            "paddle.concat([out, x])[split_batch(size):] + out",
        ),
        ("out = out * paddle.ones([8, 1])", "paddle.ones([split_batch(8), 1])"),
        ("out = paddle.reshape(out, [8, 6])", "paddle.reshape(out, [split_batch(8), 6])"),
        ("out = out + paddle.uniform([8, 6])", "paddle.uniform([split_batch(8), 6])"),
        (
            "out = out + paddle.tensor.random.gaussian(shape=[8, 6])",
            "paddle.tensor.random.gaussian(shape=[split_batch(8), 6])",
        ),
    ],
)
@pytest.mark.parametrize(
    "loader",
    ["batch_size=size", "batch_sampler=BatchSampler(data, batch_size=size, drop_last=True)"],
)
def test_a_shape_follows_the_share(batch: str, expected: str, loader: str) -> None:
    found = result(batch, loader=loader)
    assert errors(found) == []
    assert expected in found.text


def test_each_process_has_whole_batches_when_it_is_told_to() -> None:
    found = result("out = out * paddle.ones([size, 1])", options=Options(batch_size="per-device"))
    assert errors(found) == []
    assert "paddle.ones([size, 1])" in found.text


def test_a_number_that_may_be_something_else_is_refused() -> None:
    assert errors(result("out = out * paddle.ones([1, 8])[:, :6]")) == ["PD224"]


@pytest.mark.parametrize(
    "noise",
    [
        "paddle.normal(0, 1, [8, 6])",
        "paddle.tensor.random.normal(shape=[8, 6])",
        "paddle.randint(0, 9, [8, 6])",
        "paddle.tensor.random.log_normal(0, 1, [8, 6])",
        "paddle.to_tensor(np.random.normal(0, 1, (8, 6)).astype('float32'))",
        "paddle.distribution.Normal(0.0, 1.0).sample([8, 6])",
        "paddle.to_tensor(np.random.gamma(1, 1, (8, 6)).astype('float32'))",
        "paddle.to_tensor(np.random.default_rng(1).laplace(size=(8, 6)).astype('float32'))",
    ],
)
def test_rows_that_are_drawn_as_many_as_a_batch_has_are_not_left_whole(noise: str) -> None:
    assert errors(result(f"out = out + {noise}")) == ["PD224"]
    assert errors(result(f"out = out + {noise.replace('8', 'x.shape[0]')}")) == []


def test_another_number_of_the_same_value_is_refused() -> None:
    found = result("out = out * paddle.ones([other, 1])", first="size = 8\nother = 8")
    assert errors(found) == ["PD224"]
    assert errors(result("out = out * paddle.ones([other, 1])", first="size = 8\nother = 1")) == []


def test_evaluation_by_the_same_function_keeps_whole_batches() -> None:
    after = "with paddle.no_grad():\n        shown = predict(x, size)"
    found = result("out = predict(x, size)", after=after)
    assert errors(found) == []
    assert "out = predict(x, split_batch(size))" in found.text
    assert "shown = predict(x, size)" in found.text


def test_a_network_of_the_high_level_interface_that_needs_whole_batches_is_refused() -> None:
    script = """\
import paddle
from paddle import nn
from paddle.io import TensorDataset

SIZE = 8
data = TensorDataset([paddle.randn([48, 3, 6]), paddle.randn([48, 1])])


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 1)

    def forward(self, x):
        return self.rnn(x, paddle.zeros([1, SIZE, 1]))[0][:, -1]


model = paddle.Model(Net())
model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), nn.MSELoss())
model.fit(data, batch_size=SIZE, epochs=1)
"""
    assert errors(convert(script)) == ["PD224"]
    assert errors(convert(script.replace("SIZE, 1]", "x.shape[0], 1]"))) == []


def test_the_number_of_samples_stays_that_of_the_share_where_it_is_a_shape() -> None:
    found = result("unused = predict(x, x.shape[0])")
    assert "unused = predict(x, x.shape[0])" in found.text


@pytest.mark.parametrize("length", ["6 * batch_size", "batch_size"])
def test_a_dataset_stays_whole_whose_length_is_a_multiple_of_the_batch_size(length: str) -> None:
    loader = "batch_size=batch_size"
    text = SCRIPT.format(batch="pass", first="batch_size = 8", loader=loader, after="pass")
    found = convert(text.replace("48", length))
    assert found.text.count(f"paddle.randn([{length}, 6])") == 2


def test_noise_drawn_through_the_module_that_defines_it_is_divided() -> None:
    for noise in ("paddle.tensor.random.randn([size, 6])", "paddle.tensor.uniform([size, 6])"):
        text = result(f"out = out + {noise}").text
        assert noise.replace("size", "split_batch(size)") in text


@pytest.mark.parametrize(
    "rows",
    [
        "paddle.arange(8)",
        "paddle.arange(0, 8)",
        "paddle.linspace(0, 1, 8)",
        "paddle.linspace(0, 1, num=8)",
        "paddle.to_tensor(np.arange(8))",
        "paddle.to_tensor(np.linspace(0, 1, 8))",
        "paddle.arange(size)",
    ],
)
def test_rows_that_differ_and_are_as_many_as_the_batch_are_refused(rows: str) -> None:
    first = f"size = 8\nrows = {rows}"
    for batch, before in ((f"out = out * {rows}", "size = 8"), ("out = out * rows", first)):
        found = errors(result(batch, first=before))
        assert "PD224" in found or "split_batch(size)" in result(batch, first=before).text


@pytest.mark.parametrize("rows", ["paddle.arange(6)", "paddle.linspace(0, 8, 6)"])
def test_other_numbers_of_rows_are_left_alone(rows: str) -> None:
    assert errors(result(f"out = out * {rows}")) == []
