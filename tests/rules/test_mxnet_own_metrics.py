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
