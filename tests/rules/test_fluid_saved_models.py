"""Models for inference that Fluid's trainers save while servers update the parameters."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import numpy as np
import paddle.fluid as fluid

x = fluid.data("x", [None, 4])
y = fluid.data("y", [None, 1])
out = fluid.layers.fc(x, 1)
cost = fluid.layers.mean(fluid.layers.square_error_cost(out, y))
fluid.optimizer.SGD(0.05).minimize(cost)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())


def reader():
    for row in np.ones((64, 4), "float32"):
        yield row, row[:1]


feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
for data in fluid.io.batch(reader, 16)():
    exe.run(feed=feeder.feed(data), fetch_list=[cost])
fluid.io.save_inference_model("infer", ["x"], [out], exe{more})
"""


@pytest.mark.parametrize("more", ["", ', params_filename="all"'])
def test_trainers_save_their_own_parameters(more: str) -> None:
    text = convert(SCRIPT.format(more=more), Options(mode="pserver")).text
    assert f'    save_own_model("infer", ["x"], [out], exe{more})' in text


@pytest.mark.parametrize("options", [Options(mode="nccl2"), Options(async_mode=True)])
def test_where_no_servers_keep_them_or_trainers_lag_behind_nothing_changes(
    options: Options,
) -> None:
    text = convert(SCRIPT.format(more=""), options).text
    assert 'fluid.io.save_inference_model("infer"' in text
    assert "save_own_model" not in text
