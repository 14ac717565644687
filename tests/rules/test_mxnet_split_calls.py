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


def with_states(given: str, before: str = "state = [mx.nd.zeros((8, 4))]") -> Result:
    """A network that has a second input, and gives something beside its output."""
    script = SCRIPT.format(inside="pass", first=before, loss="LOSS", size="1")
    script = script.replace("def forward(self, x):", "def forward(self, x, state=None):")
    script = script.replace("return self.body(x)", "return self.body(x), state")
    script = script.replace(
        "        loss = LOSS\n",
        f"        out, after = net(mx.nd.array(x), {given})\n        loss = (out ** 2).mean()\n",
    )
    return convert(script, Options(shard="calls"))


@pytest.mark.parametrize(
    ("given", "before"),
    [
        ("state", "state = [mx.nd.zeros((8, 4))]"),
        ("[one.detach() for one in state]", "state = [mx.nd.zeros((8, 4))]"),
        ("state", "state = gluon.rnn.LSTM(4).begin_state(8)"),
        ("state", "state = None"),
        ("0.5", "pass"),
        ("dict(one=mx.nd.ones(8))", "pass"),
    ],
)
def test_inputs_that_are_no_arrays_are_refused(given: str, before: str) -> None:
    found = with_states(given, before)
    assert found.outcome is Outcome.REFUSED and "MX352" in codes(found)


@pytest.mark.parametrize("given", ["mx.nd.zeros((8, 4))", "state"])
def test_inputs_and_outputs_that_are_arrays_are_split(given: str) -> None:
    found = with_states(given, "state = mx.nd.array(np.zeros((8, 4)))")
    assert "split_calls(net)" in found.text


@pytest.mark.parametrize(
    ("gives", "outcome"),
    [
        ("out, [out, out]", Outcome.REFUSED),
        ("self.cell(x.expand_dims(0), self.cell.begin_state(8))", Outcome.REFUSED),
        ("out, out * 2", Outcome.CONVERTED),
        ("[out, self.cell(x.expand_dims(1))]", Outcome.CONVERTED),
    ],
)
def test_lists_of_states_among_the_outputs_are_refused(gives: str, outcome: Outcome) -> None:
    script = SCRIPT.format(inside="out = self.body(x)", first="pass", loss="LOSS", size="1")
    script = script.replace("return self.body(x)", f"one, two = {gives}\n        return one, two")
    script = script.replace(
        "self.body = gluon", "self.cell = gluon.rnn.LSTM(4)\n        self.body = gluon"
    )
    script = script.replace("LOSS", "(net(mx.nd.array(x))[0] ** 2).mean()")
    assert convert(script, Options(shard="calls")).outcome is outcome


def test_inputs_without_gradients_may_be_anything() -> None:
    shown = "net(mx.nd.ones((8, 4)), [mx.nd.zeros((8, 4))])"
    assert "split_calls(net)" in with_states("mx.nd.zeros((8, 4))", shown).text


def test_what_does_not_go_with_split_calls_is_refused() -> None:
    for options in (
        Options(shard="calls", kvstore="dist_async"),
        Options(batches="broadcast"),
        Options(shard="data"),
    ):
        assert result(options=options).outcome is Outcome.REFUSED


def test_rows_of_whole_numbers_travel_as_floats_which_stores_add_up() -> None:
    text = result("x = x.astype('float32')", loss="net(mx.nd.array(x, dtype='int32')).mean()").text
    assert 'rows.dtype if floats else "float64"' in text
    assert "whole.astype(rows.dtype, copy=False)" in text
    assert "ctx=rows.context, dtype=rows.dtype" not in text
