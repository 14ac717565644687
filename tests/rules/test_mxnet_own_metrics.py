"""Metrics of MXNet whose classes a script derives from ``EvalMetric``."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD as DATA
from mxnet_scripts import LOADER, TRAINER, codes

HEAD = """\
class Own(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("own")

    {reset}def update(self, labels, preds):
        for label, pred in zip(labels, preds):
            {update}
    {get}

metric = Own()
"""
STEP = """\
for data, label in loader:
    with autograd.record():
        out = net(data)
        loss = loss_fn(out, label)
    loss.backward()
    trainer.step(8)
    metric.update([label], [out])
print(metric.get())
"""
SUM = (
    "self.sum_metric += float((label == pred).sum().asscalar())\n"
    "            self.num_inst += len(label)"
)
OTHERS = {
    "a table": ("self.table[int(label[0].asscalar())] += 1", "", ""),
    "a largest one": ("self.best = max(self.best, float(pred.max().asscalar()))", "", ""),
    "a list": ("self.kept.append(pred)", "", ""),
    "read in its own way": (SUM, "", "def get(self):\n        return self.name, 1\n"),
}


def converted(update: str, reset: str = "", get: str = "") -> tuple[str, set[str]]:
    """The output and the codes for a metric."""
    metric = HEAD.format(update=update, reset=reset, get=get)
    result = convert(DATA + LOADER + TRAINER + metric + STEP)
    return result.text, set(codes(result))


def test_a_sum_over_a_count_is_added_up() -> None:
    text, told = converted(SUM)
    assert "reduce_metric(metric).get()" in text
    assert "MX602" not in told


@pytest.mark.parametrize("name", OTHERS)
def test_what_keeps_something_else_is_told(name: str) -> None:
    text, told = converted(*OTHERS[name])
    assert "MX602" in told
    assert "reduce_metric(metric)" not in text


@pytest.mark.parametrize(("member", "told"), [("mx.metric.np(root)", True), ('"acc"', False)])
def test_members_of_a_metric_of_several_are_looked_at(member: str, told: bool) -> None:
    """However they get in."""
    script = f"""\
import mxnet as mx
import numpy as np

x, y = np.zeros((64, 4), "float32"), np.zeros(64, "float32")


def root(label, pred):
    return float(np.sqrt(((label - pred[:, 1]) ** 2).mean()))


symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
symbol = mx.sym.SoftmaxOutput(symbol, name="softmax")
train = mx.io.NDArrayIter(x, y, batch_size=8)
metric = mx.metric.CompositeEvalMetric()
metric.add("acc")
metric.add({member})
mx.mod.Module(symbol).fit(train, eval_metric=metric, num_epoch=2)
"""
    found = {one.code for one in convert(script).findings}
    assert ("MX604" in found) is told
