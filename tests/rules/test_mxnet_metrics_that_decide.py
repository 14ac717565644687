"""Metrics of one MXNet worker that decide about the training: the workers must not part by them."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, STEP, SYMBOL, TRAINER, codes

from transpile import Outcome

METRIC = 'metric = mx.metric.create("KIND")\nlast, bad, rate = 1.0, 0, 0.1\n'
READ = """\
        metric.update(label, net(data))
    current = metric.get()[1]
"""


def trained(decision: str, kind: str = "rmse") -> str:
    """A training loop with a metric, and what is decided behind each epoch."""
    lines = "".join(f"    {line}\n" for line in decision.splitlines())
    return HEAD + METRIC.replace("KIND", kind) + LOADER + TRAINER + LOOP + STEP + READ + lines


SETTINGS = [
    "if last - current < 0.1:\n    trainer.set_learning_rate(0.01)",
    "if last - current < 0.1:\n    rate *= 0.5\ntrainer.set_learning_rate(rate)",
    "trainer.set_learning_rate(0.1 * current)",
    "if last < current:\n    bad += 1\nif bad > 2:\n    trainer.optimizer.lr = 0.01",
]
EXITS = [
    "if current < 0.1:\n    break",
    "if last < current:\n    bad += 1\nlast = current\nif bad > 2:\n    break",
    "if current < 0.1:\n    raise StopIteration",
    "done = current < 0.1\nif done:\n    break",
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_is_set_by_a_metric_of_one_worker_is_told(setting: str) -> None:
    result = convert(trained(setting))
    assert "MX613" in codes(result)
    assert any("come apart" in finding.message for finding in result.findings)


@pytest.mark.parametrize("leaving", EXITS)
def test_an_end_by_a_metric_of_one_worker_is_refused(leaving: str) -> None:
    result = convert(trained(leaving))
    assert result.outcome is Outcome.REFUSED and "MX305" in codes(result)


@pytest.mark.parametrize("decision", [*SETTINGS, *EXITS])
def test_a_metric_of_all_workers_may_decide(decision: str) -> None:
    result = convert(trained(decision, "acc"))
    assert "reduce_metric(metric).get()" in result.text
    assert not codes(result) & {"MX305", "MX613"}


@pytest.mark.parametrize(
    "decision",
    [
        "print(current)",
        "if current < last:\n    last = current\n    net.save_parameters('best')",
        "if epoch > 3:\n    break",
        "if epoch > 3:\n    trainer.set_learning_rate(0.01)",
    ],
)
def test_what_keeps_the_workers_alike_is_told_as_a_number_alone(decision: str) -> None:
    result = convert(trained(decision))
    assert result.outcome is Outcome.CONVERTED
    assert "MX602" in codes(result) and not codes(result) & {"MX305", "MX613"}


CALLBACK = """\
class Watch:
    def __init__(self):
        self.seen = []

    def batch(self, param):
        self.last = param.eval_metric.get_name_value()[0][1]
        WITHIN

    def epoch(self, epoch, symbol, arguments, states):
        self.seen.append(self.last)
        DECISION


watch = Watch()
"""
FIT = (
    'module.fit(train, eval_metric="KIND", num_epoch=3, batch_end_callback=watch.batch, '
    "epoch_end_callback=watch.epoch)\n"
)


def fitted(decision: str, within: str = "pass", kind: str = "f1") -> str:
    """A script whose callback looks at the metric of a call that trains."""
    callback = CALLBACK.replace("DECISION", decision).replace("WITHIN", within)
    return HEAD + SYMBOL + callback + FIT.replace("KIND", kind)


@pytest.mark.parametrize(
    ("decision", "within"),
    [
        ("if len(self.seen) > 2 and self.seen[-1] > 0.9: raise StopIteration", "pass"),
        ("pass", "if self.last > 0.9: raise StopIteration"),
        ("pass", "if param.eval_metric.get()[1] > 0.9: exit()"),
    ],
)
def test_a_callback_that_ends_the_training_by_such_a_metric_is_refused(
    decision: str, within: str
) -> None:
    result = convert(fitted(decision, within))
    assert result.outcome is Outcome.REFUSED and "MX305" in codes(result)
    assert "MX305" not in codes(convert(fitted(decision, within, "acc")))


@pytest.mark.parametrize(
    "decision",
    [
        "if self.last > 0.9: module._optimizer.lr *= 0.5",
        "if self.seen[-1] > 0.9: module._optimizer.set_learning_rate(0.1)",
    ],
)
def test_a_callback_that_sets_something_by_such_a_metric_is_told(decision: str) -> None:
    assert "MX613" in codes(convert(fitted(decision)))
    assert "MX613" not in codes(convert(fitted(decision, kind="acc")))


@pytest.mark.parametrize("decision", ["print(self.seen)", "if epoch > 2: raise StopIteration"])
def test_a_callback_that_does_neither_is_told_as_before(decision: str) -> None:
    result = convert(fitted(decision))
    assert "MX604" in codes(result) and not codes(result) & {"MX305", "MX613"}
