"""Which MXNet scripts have the calls of their networks split, and which are refused."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, Result, convert

SCRIPT = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


class Net(gluon.nn.Block):
    def __init__(self):
        super().__init__()
        self.body = gluon.nn.Dense(4)

    def forward(self, x):
        {inside}
        return self.body(x)


def rows(count):
    for _ in range(count):
        yield np.random.randn(8, 4)


net = Net()
net.initialize()
{first}
trainer = gluon.Trainer(net.collect_params(), "sgd")
for x in rows(9):
    with autograd.record():
        loss = {loss}
    loss.backward()
    trainer.step({size})
"""


def result(
    inside: str = "pass",
    first: str = "pass",
    loss: str = "(net(mx.nd.array(x)) ** 2).mean()",
    size: str = "1",
    options: Options | None = None,
) -> Result:
    return convert(SCRIPT.format(inside=inside, first=first, loss=loss, size=size), options)


def codes(found: Result) -> set[str]:
    return {finding.code for finding in found.findings}


def test_batches_of_a_generator_have_the_calls_on_them_split() -> None:
    found = result()
    assert found.outcome is Outcome.CONVERTED
    assert {"DT015", "MX354"} <= codes(found)
    assert "split_calls(net)\ntrainer = gluon.Trainer(share_parameters(" in found.text
    assert "trainer.step(get_num_workers())" in found.text
    assert "vary_random_numbers()\n" not in found.text


@pytest.mark.parametrize("size", ["8", "x.shape[0]"])
def test_steps_divide_by_the_workers_whatever_they_count(size: str) -> None:
    assert f"trainer.step({size} * get_num_workers())" in result(size=size).text


@pytest.mark.parametrize(
    "inside",
    [
        "x = x - x.mean(axis=0) if autograd.is_training() else x",
        "self.seen = x.mean()",
        "x = mx.nd.Dropout(x)",
    ],
)
def test_a_network_whose_first_batch_would_not_show_what_it_does_is_refused(inside: str) -> None:
    found = result(inside, options=Options(shard="calls"))
    assert found.outcome is Outcome.REFUSED and "MX352" in codes(found)
    assert result(inside).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    "first",
    [
        "net.body.register_forward_hook(print)",
        "z = mx.nd.ones(3)\ng = autograd.grad(z, [z], create_graph=True)",
        "net.add(gluon.nn.Dropout(0.5))",
    ],
)
def test_what_would_not_be_exact_is_refused(first: str) -> None:
    assert "MX352" in codes(result(first=first, options=Options(shard="calls")))


def test_what_does_not_go_with_split_calls_is_refused() -> None:
    for options in (
        Options(shard="calls", kvstore="dist_async"),
        Options(batches="broadcast"),
        Options(shard="data"),
    ):
        assert result(options=options).outcome is Outcome.REFUSED
