"""Own metrics of MXNet that are no sum over a count: the workers' do not add up."""

from __future__ import annotations

import pytest
from mxnet_scripts import codes

from transpile import convert

SCRIPT = """\
import mxnet as mx
import numpy as np


class Own(mx.metric.EvalMetric):
    def reset(self):
        self.num_inst, self.sum_metric = {start}

    def update(self, labels, preds):
        value = (preds[0].asnumpy().argmax(1) == labels[0].asnumpy()).mean()
        {update}


train = mx.io.NDArrayIter(np.zeros((64, 4)), np.zeros(64), batch_size=8)
symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
module = mx.mod.Module(mx.sym.SoftmaxOutput(symbol, name="softmax"))
module.bind(train.provide_data, train.provide_label)
module.init_params()
module.init_optimizer(optimizer="sgd")
metric = Own("own")
for epoch in range(3):
    metric.reset()
    train.reset()
    for batch in train:
        module.forward_backward(batch)
        module.update_metric(metric, batch.label)
        module.update()
    print(metric.get())
"""


def found(update: str, start: str = "0, 0.0") -> set[str]:
    return codes(convert(SCRIPT.format(update=update, start=start)))


@pytest.mark.parametrize(
    ("update", "start"),
    [
        ("self.sum_metric = min(self.sum_metric, float(value))", "1, 1.0"),
        ("self.sum_metric = 0.9 * self.sum_metric + 0.1 * value", "1, 0.0"),
        ("self.sum_metric *= value", "1, 1.0"),
        ("self.sum_metric += value; self.num_inst += 1", "0, 1.0"),
        ("if value < self.sum_metric: self.sum_metric = value", "1, 1.0"),
        ("self.sum_metric += float(value < 0.5); self.num_inst += 1", "0, 0.0"),
        ("self.sum_metric += np.sqrt(value); self.num_inst += 1", "0, 0.0"),
        ("self.sum_metric += value ** 0.5; self.num_inst += 1", "0, 0.0"),
        ("self.sum_metric += preds[0].asnumpy().max(); self.num_inst += 1", "0, 0.0"),
        ("self.num_inst += 1\n        if value < 0.5: self.sum_metric += 1", "0, 0.0"),
    ],
)
def test_what_shares_do_not_add_up_to_is_told(update: str, start: str) -> None:
    assert "MX602" in found(update, start)


@pytest.mark.parametrize(
    "update",
    [
        "self.sum_metric += float(value); self.num_inst += 1",
        "self.sum_metric = self.sum_metric + value; self.num_inst = self.num_inst + 1",
        "self.sum_metric += int(value * len(labels[0])); self.num_inst += len(labels[0])",
        "self.sum_metric += preds[0].asnumpy().max(axis=1).sum(); self.num_inst += 8",
    ],
)
def test_sums_are_added_up(update: str) -> None:
    assert found(update).isdisjoint({"MX602"})
