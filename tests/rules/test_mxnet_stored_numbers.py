"""What training puts into arrays by index, of one worker's part of the batches."""

from __future__ import annotations

import pytest
from mxnet_scripts import GLUON, STEP, codes

from transpile import Options, convert

TABLES = """\
class Memory:
    def __init__(self, size):
        self.losses = np.zeros(size)

    def put(self, places, losses):
        self.losses[places] = losses


memory = Memory(64)
table = np.zeros(64)
array = mx.nd.zeros((64,))
counts = np.zeros((2, 2))
start = 0
"""


@pytest.mark.parametrize(
    "store",
    [
        "table[label.asnumpy().astype(int)] = loss.asnumpy()",
        "np.add.at(table, label.asnumpy().astype(int), loss.asnumpy())",
        "array[label] = loss",
        "table[start : start + 8] = loss.asnumpy()",
        "memory.put(label.asnumpy().astype(int), loss.asnumpy())",
        "counts[label.asnumpy().astype(int)] += 1",
    ],
)
def test_what_samples_are_put_into_arrays_is_told(store: str) -> None:
    script = GLUON.replace("for epoch", f"{TABLES}for epoch") + f"{STEP}        {store}\n"
    assert "MX602" in codes(convert(script, Options(shard="data")))
    chosen = convert(script)
    assert "split_calls(net)" in chosen.text and "DT015" in codes(chosen)


@pytest.mark.parametrize(
    ("store", "written"),
    [
        ("losses[epoch, 0] = loss.mean().asscalar()", "= average_workers(loss.mean()"),
        ("rates[epoch] = trainer.learning_rate", "= trainer.learning_rate"),
        ("weights = np.ones(data.shape[0])\n        weights[label.asnumpy() > 1] = 2", "> 1] = 2"),
        ("label[:] = label * 2", "= label * 2"),
    ],
)
def test_what_adds_up_and_what_ends_with_the_batch_is_not(store: str, written: str) -> None:
    made = "losses, rates = np.zeros((2, 8)), np.zeros(2)\n"
    script = GLUON.replace("for epoch", f"{made}for epoch") + f"{STEP}        {store}\n"
    result = convert(script, Options(shard="data"))
    assert "MX602" not in codes(result) and written in result.text
