"""What steps of MXNet's trainers divide by, where that is read off the batches."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, HEAD, LOADER, TRAINER, codes

from transpile import Options, Outcome


def stepped(count: str, divisor: str = "n", behind: str = "") -> str:
    """A training loop that counts something of its batches, and divides by it."""
    lines = [f"        {line}\n" for line in (*count.split("; "), f"trainer.step({divisor})")]
    return "seen = 0\n" + GLUON + "".join(lines) + behind


@pytest.mark.parametrize(
    ("count", "written"),
    [
        ("n = label.sum().asscalar()", "n = add_workers(label.sum().asscalar())"),
        ("n = max(label.sum().asscalar(), 1)", "n = max(add_workers(label.sum().asscalar()), 1)"),
        ("n = (label > 0).sum().asscalar() + 1", "add_workers((label > 0).sum().asscalar()) + 1"),
        ("n = label.mean().asscalar()", "n = average_workers(label.mean().asscalar())"),
        ("seen += label.sum().asscalar(); n = seen", "seen += add_workers(label.sum()"),
    ],
)
def test_a_count_that_differs_is_added_up_and_not_multiplied(count: str, written: str) -> None:
    result = convert(stepped(count))
    assert written in result.text
    assert "trainer.step(n)" in result.text


@pytest.mark.parametrize("count", ["n = data.shape[0]", "seen += len(data); n = seen"])
def test_a_count_that_all_have_alike_is_multiplied(count: str) -> None:
    result = convert(stepped(count))
    assert count.replace("; ", "\n        ") in result.text
    assert "trainer.step(n * get_num_workers())" in result.text


@pytest.mark.parametrize(
    ("count", "behind"),
    [
        ("seen += len(data); n = seen", "if seen:\n    print(1)\n"),
        ("seen += len(data); n = seen", "print(seen)\n"),
        ("n = label.sum().asscalar(); seen += n", "print(seen)\n"),
    ],
)
def test_what_is_added_up_for_something_else_is_not_multiplied(count: str, behind: str) -> None:
    result = convert(stepped(count, behind=behind))
    assert "add_workers(label" in result.text or "seen += len(data) * get_num_wo" in result.text
    assert "trainer.step(n)" in result.text


def test_the_mean_of_a_loss_is_multiplied_beside_a_count_that_is_added_up() -> None:
    script = stepped("n = label.sum().asscalar()").replace("label)\n", "label).mean()\n", 1)
    result = convert(script)
    assert "n = add_workers(" in result.text
    assert "trainer.step(n * get_num_workers())" in result.text


@pytest.mark.parametrize(
    "count",
    [
        "n = label.max().asscalar()",
        "n = label.sum()",
        "n = data.shape[0] // 4",
        "n = label.sum().asscalar() + data.shape[0]",
        "seen += len(data); print(seen); n = seen + data.shape[0]",
    ],
)
def test_what_cannot_be_made_that_of_all_workers_is_refused(count: str) -> None:
    result = convert(stepped(count))
    assert result.outcome is Outcome.REFUSED and "MX302" in codes(result)


def test_a_step_of_its_own_divides_by_its_own_count() -> None:
    result = convert(stepped("n = label.sum().asscalar()"), Options(kvstore="dist_async"))
    assert "trainer.step(n)" in result.text


def test_what_is_divided_by_is_settled() -> None:
    once = convert(stepped("n = label.sum().asscalar()")).text
    assert convert(once, Options(respect_distributed=False)).text == once


CHOSEN = """\
    for data, label in loader:
        with autograd.record():
            loss = loss_fn(net(data), label)
            if mean:
                loss = loss.mean()
        loss.backward()
        trainer.step(1 if mean else 8)
"""
FUNCTION = HEAD + LOADER + TRAINER + "def train(mean):\n" + CHOSEN


@pytest.mark.parametrize(
    "calls", ["train(True)\ntrain(False)\n", "for each in (False, True):\n    train(each)\n"]
)
def test_a_step_for_means_in_one_call_and_sums_in_another_is_refused(calls: str) -> None:
    result = convert(FUNCTION + calls)
    assert result.outcome is Outcome.REFUSED and "MX306" in codes(result)


@pytest.mark.parametrize(
    ("call", "divisor"),
    [("train(True)\n" * 2, "(1 if mean else 8) * get_num_workers()"),
     ("train(False)\n" * 2, "1 if mean else 8")],
)  # fmt: skip
def test_a_step_for_one_kind_of_loss_converts(call: str, divisor: str) -> None:
    result = convert(FUNCTION + call)
    assert f"trainer.step({divisor})" in result.text and "MX306" not in codes(result)


def test_a_loss_that_a_condition_makes_a_mean_is_told() -> None:
    loop = "import sys\nmean = len(sys.argv) > 1\nif loader:\n" + CHOSEN
    result = convert(HEAD + LOADER + TRAINER + loop)
    assert result.outcome is Outcome.CONVERTED
    assert "MX306" in codes(result) and "MX314" not in codes(result)
