"""Trainers drop other units, also where the script seeds its programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fluid_cluster import Cluster

from transpile import Options, convert

SCRIPT = """\
import sys

import numpy as np
import paddle
import paddle.fluid as fluid


def rows():
    for _ in range(8):
        yield np.ones(32, "float32"), np.ones(1, "float32")


x = fluid.layers.data(name="x", shape=[32], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
fluid.default_main_program().random_seed = 7
dropped = fluid.layers.dropout(x, 0.5)
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(dropped, 1), y))
fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
for batch in paddle.batch(rows, batch_size=4)():
    kept, = exe.run(feed=feeder.feed(batch), fetch_list=[dropped])
    sys.stderr.write("kept %s\\n" % "".join("1" if each else "0" for each in kept[0]))
"""


def kept(errors: str) -> list[str]:
    """The units that a process has kept of the first sample of each batch."""
    return [line.split()[1] for line in errors.splitlines() if line.startswith("kept ")]


def test_trainers_drop_other_units(interpreter_of: Callable[[str], Path], tmp_path: Path) -> None:
    text = convert(SCRIPT, Options()).text
    assert "\nvary_noise()\ntranspile_program()\n" in text
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    (folder / "train_dist.py").write_text(text)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    one = cluster.alone("train.py")
    alone = cluster.alone("train_dist.py")
    first, second = cluster.together("train_dist.py")
    assert [each.status for each in (one, alone, first, second)] == [0, 0, 0, 0], first.errors
    assert kept(one.errors) == kept(alone.errors) == kept(first.errors)
    assert kept(first.errors) != kept(second.errors)
    assert len(kept(second.errors)) == 2
