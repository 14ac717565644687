"""Functions of MXNet scripts that are called twice: every call of them counts."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, SYMBOL, TRAINER, codes

from transpile import Outcome

MADE = "".join(f"    {line}\n" for line in SYMBOL.splitlines())
FIT = "    module.fit(train, optimizer_params=dict(learning_rate=rate), num_epoch=1)\n"


def called(body: str, parameters: str, *calls: str) -> str:
    """A script that calls a function."""
    lines = "".join(f"run({each})\n" for each in calls)
    return f"{HEAD}\n\ndef run({parameters}):\n{body}\n\n{lines}"


def test_data_that_every_call_trains_on_is_shared_out() -> None:
    result = convert(called(MADE + FIT, "rate", "0.1", "0.3"))
    assert result.outcome is Outcome.CONVERTED and "MX202" not in codes(result)
    assert "batch_size=split_batch(8)" in result.text


def test_data_of_which_one_call_evaluates_with_is_refused() -> None:
    body = MADE + "    if rate is None:\n        module.score(train, 'acc')\n        return\n" + FIT
    result = convert(called(body, "rate", "0.1", "None"))
    assert result.outcome is Outcome.REFUSED and "MX202" in codes(result)


def test_data_of_the_second_call_that_is_not_known_is_refused() -> None:
    body = SYMBOL.rpartition("train =")[0] + "import elsewhere\n"
    fit = called(FIT, "train, rate", "mx.io.NDArrayIter(x, y, 8), 0.1", "elsewhere.data(), 0.1")
    result = convert(fit.replace("\n\ndef", body + "\n\ndef", 1))
    assert result.outcome is Outcome.REFUSED and "MX203" in codes(result)


@pytest.mark.parametrize(("second", "told"), [("'f1'", True), ("'mse'", False)])
def test_the_metric_of_the_second_call_counts(second: str, told: bool) -> None:
    fit = FIT.replace("num_epoch", "eval_metric=metric, num_epoch")
    result = convert(called(MADE + fit, "rate, metric", "0.1, 'acc'", f"0.3, {second}"))
    assert ("MX604" in codes(result)) is told
    assert ("SharedMetric(metric)" in result.text) is not told


def test_what_the_second_call_divides_by_counts() -> None:
    fit = FIT.replace("=rate", "=0.1, rescale_grad=part or 1 / train.batch_size")
    result = convert(called(MADE + fit, "part", "0.5", "0"))
    assert result.outcome is Outcome.REFUSED and "MX303" in codes(result)


def test_modules_that_both_calls_bind_elsewhere_are_told_their_divisor_once() -> None:
    body = MADE + (
        "    module.bind([('data', (32, 4))], [('softmax_label', (32,))])\n"
        "    module.init_params()\n"
        "    module.init_optimizer(optimizer='sgd')\n"
    )
    result = convert(called(body + FIT, "rate", "0.1", "0.3"))
    assert "MX303" not in codes(result)
    assert result.text.count("init_optimizer(optimizer='sgd', optimizer_params=divide_by") == 1


STEPPED = """\
    for data, label in loader:
        with autograd.record():
            loss = LOSS
        loss.backward()
        trainer.step(DIVISOR)
"""


def stepped(loss: str, divisor: str, parameters: str, *calls: str) -> str:
    """A script that calls a function with a training loop."""
    body = STEPPED.replace("LOSS", loss).replace("DIVISOR", divisor)
    script = called(body, parameters, *calls)
    return script.replace("\n\ndef", LOADER + TRAINER + "\n\ndef", 1)


@pytest.mark.parametrize(
    ("losses", "code"),
    [
        (("loss_fn(a, b).mean()", "a.sum() / (1 + b.sum())"), "MX314"),
        (("loss_fn(a, b).sum()", "loss_fn(a, b).sum() + net.weight.data().sum()"), "MX308"),
        (("loss_fn(a, b)", "loss_fn(a[:4], b[:4])"), "MX310"),
        (("loss_fn(a, b).mean()", "loss_fn(a[:4], b[:4]).mean()"), "MX310"),
    ],
)
def test_the_loss_of_the_second_call_counts(losses: tuple[str, str], code: str) -> None:
    calls = [f"lambda a, b: {loss}" for loss in losses]
    said = [
        codes(convert(stepped("make(net(data), label)", "1", "make", *given)))
        for given in (calls[:1], calls, calls[::-1])
    ]
    assert [code in each for each in said] == [False, True, True]


def test_a_divisor_that_is_of_one_worker_in_the_second_call_is_refused() -> None:
    counts = ("lambda batch: 8", "lambda batch: len(batch)")
    script = stepped("loss_fn(net(data), label)", "count(data)", "count", *counts)
    result = convert(script)
    assert result.outcome is Outcome.REFUSED and "MX302" in codes(result)
