"""Losses that MXNet's modules are given as symbols: which add up over the workers."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import codes

from transpile import Options, Outcome

SCRIPT = """\
import mxnet as mx
import numpy as np

x = np.zeros((64, 4), dtype="float32")
y = np.zeros((64, 2), dtype="float32")
train = mx.io.NDArrayIter({"data": x}, {"mask": y}, batch_size=8)
data, mask = mx.sym.Variable("data"), mx.sym.var("mask")
weight = mx.sym.Variable("weight")
prob = mx.sym.sigmoid(mx.sym.FullyConnected(data, weight=weight, num_hidden=2, no_bias=True))
net = mx.sym.MAKER(LOSS)
module = mx.mod.Module(net, data_names=("data",), label_names=("mask",))
module.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
module.init_params()
module.init_optimizer(optimizer="sgd", optimizer_params={SETTINGS})
for batch in train:
    module.forward(batch, is_train=True)
    module.backward()
    module.update()
"""
FOUND = {"MX303", "MX306", "MX308", "MX314"}


def script(loss: str, maker: str = "MakeLoss", settings: str = '"learning_rate": 0.5') -> str:
    """A training of a module that ends in a loss of its own."""
    made = SCRIPT.replace("MAKER", maker).replace("LOSS", loss)
    return made.replace("SETTINGS", settings)


@pytest.mark.parametrize("maker", ["MakeLoss", "make_loss"])
@pytest.mark.parametrize(
    "loss",
    [
        "mx.sym.square(prob - mask)",
        "mx.sym.sum(mx.sym.square(prob - mask))",
        "mx.sym.mean(mx.sym.square(prob - mask), axis=1)",
        "mx.sym.sum(mx.sym.abs(prob - mask)) / 16",
        "mx.sym.sqrt(mx.sym.sum(mx.sym.square(prob - mask), axis=1))",
        "mx.sym.sum(prob * mask, axis=1) / mx.sym.sum(prob + mask, axis=1)",
        "mx.sym.BlockGrad(mx.sym.mean(prob))",
    ],
)
def test_what_adds_up_over_the_samples_is_converted(loss: str, maker: str) -> None:
    result = convert(script(loss, maker))
    assert result.outcome is Outcome.CONVERTED
    assert not codes(result) & FOUND


@pytest.mark.parametrize("maker", ["MakeLoss", "make_loss"])
@pytest.mark.parametrize(
    "loss",
    [
        "mx.sym.mean(mx.sym.square(prob - mask))",
        "mx.sym.square(prob - mask).mean()",
        "0.5 * mx.sym.mean(mx.sym.abs(prob - mask), axis=0)",
        "mx.sym.sqrt(mx.sym.mean(mx.sym.square(prob - mask)))",
        "1 - 2 * mx.sym.sum(prob * mask) / (mx.sym.sum(prob) + mx.sym.sum(mask))",
        "mx.sym.broadcast_div(mx.sym.sum(prob * mask), mx.sym.sum(mask))",
        "mx.sym.square(prob - mx.sym.mean(prob))",
        "mx.sym.square(mx.sym.FullyConnected(data - mx.sym.mean(data), num_hidden=2) - mask)",
    ],
)
@pytest.mark.parametrize("settings", ['"learning_rate": 0.5', '"rescale_grad": 1.0'])
def test_what_is_as_large_for_a_share_is_refused(loss: str, maker: str, settings: str) -> None:
    result = convert(script(loss, maker, settings))
    assert result.outcome is Outcome.REFUSED
    assert codes(result) & FOUND == {"MX303"}


def test_a_penalty_beside_a_sum_is_refused() -> None:
    loss = "mx.sym.sum(mx.sym.square(prob - mask)) + 0.01 * mx.sym.sum(mx.sym.square(weight))"
    assert codes(convert(script(loss))) & FOUND == {"MX308"}


def test_a_term_of_the_parameters_alone_is_warned_of() -> None:
    assert codes(convert(script("mx.sym.sum(mx.sym.square(weight))"))) & FOUND == {"MX306"}


@pytest.mark.parametrize(
    "rows",
    [
        "mx.sym.BatchNorm(prob)",
        "mx.sym.SoftmaxActivation(data=prob)",
        "mx.sym.contrib.MultiProposal(prob)",
        "mx.sym.Custom(prob, op_type='own')",
    ],
)
def test_what_is_not_known_of_samples_is_warned_of_where_they_are_reduced(rows: str) -> None:
    kept = f"mx.sym.square({rows} - mask)"
    for apart in (kept, f"mx.sym.sum({kept}, axis=1)", f"{kept}.mean(axis=(1,))"):
        assert not codes(convert(script(apart))) & FOUND
    expected = {"MX303"} if "Norm" in rows or "Softmax" in rows else {"MX306"}
    for reduced in (f"mx.sym.mean({kept})", f"{kept}.mean()", f"mx.sym.mean({kept}, axis=(0, 1))"):
        assert codes(convert(script(reduced))) & FOUND == expected


def test_a_mean_of_the_batch_of_one_process_is_averaged_by_the_module() -> None:
    mean = "mx.sym.mean(mx.sym.square(prob - mask))"
    grown = Options(batch_size="per-device")
    assert not codes(convert(script(mean), grown)) & FOUND
    ratio = "mx.sym.sum(prob * mask) / mx.sym.sum(mask)"
    assert codes(convert(script(ratio), grown)) & FOUND == {"MX314"}
    told = script(mean, settings='"rescale_grad": 1.0')
    assert codes(convert(told, grown)) & FOUND == {"MX303"}


@pytest.mark.parametrize(
    "names",
    [
        'mx.io.CSVIter(data_csv="x.csv", data_shape=(4,), batch_size=8)',
        'mx.io.NDArrayIter(x, y, 8, data_name="data", label_name="mask")',
    ],
)
def test_inputs_are_known_by_the_names_that_modules_have_for_them(names: str) -> None:
    made = script("mx.sym.mean(mx.sym.square(prob - mask))")
    given = 'mx.io.NDArrayIter({"data": x}, {"mask": y}, batch_size=8)'
    assert given in made
    assert codes(convert(made.replace(given, names))) & FOUND == {"MX303"}
