"""Rows that MXNet's scripts take from other arrays beside the batches of a loader."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, HEAD, LOADER, STEP, TRAINER, codes

from transpile import Options, Outcome
from transpile import convert as convert_on_any_way

BANK = 'bank = np.random.RandomState(0).rand(64, 1).astype("float32")\n'
TAKER = """\
at = 0


def take(n):
    global at
    found = bank[np.arange(at, at + n) % 64]
    at += n
    return mx.nd.array(found)


class Bank:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        found = self.data[self.at : self.at + n]
        self.at = (self.at + n) % len(self.data)
        return mx.nd.array(found)


rows = Bank(bank)
"""


def script(weights: str, before: str = "") -> str:
    """A training with weights of the samples from elsewhere."""
    loop = f"""\
k = 0
for epoch in range(2):
    for i, (data, label) in enumerate(loader):
        {before or "pass"}
        with autograd.record():
            loss = loss_fn(net(data), label, {weights})
        loss.backward()
"""
    return HEAD + LOADER + TRAINER + BANK + TAKER + loop + STEP


@pytest.mark.parametrize(
    ("weights", "before"),
    [
        ("take(len(data))", ""),
        ("take(data.shape[0])", ""),
        ("rows.take(len(label))", ""),
        ("mx.nd.array(bank[k : k + n])", "n = data.shape[0]; k += n"),
        ("mx.nd.array(bank[k : k + n])", "n, width = data.shape; k += n"),
        ("mx.nd.array(bank[: len(label)])", ""),
        ("mx.nd.array(bank[i * 8 : (i + 1) * 8])", ""),
        ("mx.nd.array(bank[i * batch_size : (i + 1) * batch_size])", ""),
        ("mx.nd.array(bank[k : k + batch_size])", "k += batch_size"),
        ("mx.nd.array([bank[(k + j) % 64] for j in range(len(data))])", ""),
        ("mx.nd.array(np.take(bank, np.arange(len(data)), axis=0))", ""),
        ("mx.nd.array(bank).slice_axis(axis=0, begin=0, end=len(data))", ""),
    ],
)
def test_rows_that_the_samples_count_up_to_are_refused(weights: str, before: str) -> None:
    text = script(weights, before)
    result = convert(text)
    assert result.outcome is Outcome.REFUSED
    assert "MX223" in codes(result)
    split = convert_on_any_way(text)
    assert split.outcome is Outcome.CONVERTED
    assert "split_calls(net)" in split.text


@pytest.mark.parametrize(
    ("weights", "before"),
    [
        ("1", ""),
        ("float(bank[i % 64, 0])", ""),
        ("mx.nd.array(bank[epoch : epoch + 1])", ""),
        ("mx.nd.array(bank[: data.shape[1]]).reshape((1, -1)).mean()", ""),
        ("mx.nd.ones((64, 1))[: len(data)]", ""),
        ("np.ones((64, 1))[k : k + n]", "n = len(data); k += n"),
        ("mx.nd.array(bank[:1]).broadcast_to((64, 1))[: len(data)]", ""),
        ("mx.nd.broadcast_to(mx.nd.array(bank[:1]), (64, 1))[: len(data)]", ""),
        ("mx.nd.array(bank)[label]", ""),
        ("data[:, 0:1]", ""),
    ],
)
def test_rows_that_go_with_the_samples_or_with_the_step_stay(weights: str, before: str) -> None:
    assert "MX223" not in codes(convert(script(weights, before)))


def test_rows_that_no_loss_is_made_of_stay() -> None:
    shown = "        seen = bank[: len(data)]\n"
    assert "MX223" not in codes(convert(BANK + GLUON + shown + STEP))


def test_batches_that_a_loop_cuts_itself_are_shared() -> None:
    text = HEAD + TRAINER
    text += """\
for i in range(8):
    with autograd.record():
        out = net(mx.nd.array(x[i * 8 : (i + 1) * 8]))
        loss = loss_fn(out, mx.nd.array(y[i * 8 : (i + 1) * 8]))
    loss.backward()
    trainer.step(8)
"""
    result = convert(text)
    assert "share_of(x[i * 8" in result.text and "MX223" not in codes(result)


def test_workers_with_the_batch_of_one_process_each_have_other_rows_too() -> None:
    grown = Options(batch_size="per-device")
    assert "MX223" in codes(convert(script("take(len(data))"), grown))


WHOLE = [
    "mx.nd.arange(8)",
    "mx.nd.arange(0, 8) / 8",
    "mx.nd.arange(batch_size)",
    "mx.np.arange(8).as_nd_ndarray()",
    "mx.nd.linspace(0, 1, 8)",
    "mx.nd.array(np.arange(8))",
    "mx.nd.array([0.5, 1.0] * 4)",
    "mx.nd.array([1, 2, 3, 4, 5, 6, 7, 8])",
]


@pytest.mark.parametrize("rows", WHOLE)
@pytest.mark.parametrize("weights", ["{}", "whole"])
def test_arrays_as_long_as_a_whole_batch_are_refused(rows: str, weights: str) -> None:
    text = script(weights.format(rows)).replace(BANK, f"whole = {rows}\n" + BANK)
    assert "MX223" in codes(convert(text))
    split = convert_on_any_way(text)
    assert split.outcome is Outcome.CONVERTED and "MX223" not in codes(split)


@pytest.mark.parametrize(
    "rows",
    ["mx.nd.ones(8)", "mx.nd.arange(4)", "mx.nd.array([1, 2, 3])", "mx.nd.arange(8).take(label)"],
)
def test_arrays_alike_or_of_another_length_are_not(rows: str) -> None:
    assert "MX223" not in codes(convert(script(rows)))
