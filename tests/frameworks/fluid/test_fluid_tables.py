"""Embeddings whose tables stay on parameter servers, where there are several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fluid_cluster import Cluster

from transpile import Options, convert

SCRIPT = """\
import numpy as np
import paddle
import paddle.fluid as fluid


def rows():
    rng = np.random.RandomState(0)
    for _ in range(64):
        user, item = rng.randint(0, 20000, 2)
        yield [int(user)], [int(item)], [float((user + item) % 2)]


user = fluid.layers.data(name="user", shape=[1], dtype="int64")
item = fluid.layers.data(name="item", shape=[1], dtype="int64")
label = fluid.layers.data(name="label", shape=[1], dtype="float32")
start = fluid.initializer.Constant(0.1)
users = fluid.layers.embedding(
    user, size=[20000, 64], param_attr=fluid.ParamAttr(name="users", initializer=start))
items = fluid.layers.embedding(
    item, size=[20000, 64], param_attr=fluid.ParamAttr(name="items", initializer=start))
both = fluid.layers.concat([users, items], 1)
score = fluid.layers.fc(both, 1, param_attr=fluid.ParamAttr(name="score", initializer=start))
loss = fluid.layers.mean(fluid.layers.square_error_cost(score, label))
fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([user, item, label], fluid.CPUPlace())
for epoch in range(3):
    for batch in paddle.batch(rows, batch_size=8)():
        exe.run(feed=feeder.feed(batch), fetch_list=[loss])
"""


def prepared(work: Path, converted: str, script: str = SCRIPT) -> Path:
    """A folder with the script and a converted one."""
    folder = work / "source"
    folder.mkdir()
    (folder / "train.py").write_text(script)
    (folder / "train_dist.py").write_text(converted)
    return folder


def converted(script: str = SCRIPT) -> str:
    """The script with its tables on the servers."""
    return convert(script, Options(distributed_embedding=True)).text


@pytest.mark.parametrize("optimizer", ["SGD", "Adagrad"])
def test_two_tables_train(
    optimizer: str, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = SCRIPT.replace("optimizer.SGD(", f"optimizer.{optimizer}(")
    text = converted(script)
    assert ("is_distributed=has_remote_table()" in text) is (optimizer == "SGD")
    cluster = Cluster(interpreter_of("fluid"), prepared(tmp_path, text, script), tmp_path)
    one = cluster.alone("train.py")
    both = cluster.together("train_dist.py", servers=2)
    assert [one.status, *(each.status for each in both)] == [0, 0, 0], both[0].errors[-2000:]
    for each in both:
        with np.load(one.parameters) as single, np.load(each.parameters) as trainer:
            np.testing.assert_allclose(trainer["score"], single["score"], atol=1e-5)
            assert np.abs(single["score"] - 0.1).max() > 1e-2
            assert "users" in single.files and "users" not in trainer.files


def test_a_declared_table_stops_the_transpiler_of_this_version(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = converted().replace("is_distributed=has_remote_table()", "is_distributed=True", 1)
    cluster = Cluster(interpreter_of("fluid"), prepared(tmp_path, script), tmp_path)
    for ended in cluster.together("train_dist.py"):
        assert ended.status == 1
        assert "IndexError" in ended.errors
