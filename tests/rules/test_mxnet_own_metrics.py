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


GET = """
    def get(self):
        {line}
        if self.num_inst == 0:
            return self.name, float("nan")
        return self.name, np.sqrt(self.sum_metric / self.num_inst)
"""
COUNTED = "self.sum_metric += value; self.num_inst += 1" + GET


@pytest.mark.parametrize(
    ("line", "told"), [("pass", False), ("self.best = 1", True), ("self.all.append(1)", True)]
)
def test_what_a_metric_makes_of_its_counts_is_made_of_those_of_all(line: str, told: bool) -> None:
    assert ("MX602" in found(COUNTED.format(line=line))) is told


def test_a_metric_of_several_may_hold_such_a_one() -> None:
    several = SCRIPT.replace('Own("own")', 'mx.metric.CompositeEvalMetric([Own("own"), "acc"])')
    script = several.format(update=COUNTED.format(line="pass"), start="0, 0.0")
    result = convert(script)
    assert not codes(result) and "reduce_metric(metric).get()" in result.text


def test_a_metric_that_is_read_behind_fit_is_that_of_all_workers() -> None:
    fit = "module.fit(train, eval_metric=metric, num_epoch=1)\nprint(metric.get())\n"
    script = SCRIPT[: SCRIPT.index("module.bind")] + 'metric = Own("own")\n' + fit
    result = convert(script.format(update="self.sum_metric += value", start="0, 0.0"))
    assert "print_once(reduce_metric(metric).get())" in result.text and not codes(result)
