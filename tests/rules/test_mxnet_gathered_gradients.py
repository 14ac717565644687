"""Gradients that an MXNet script adds up itself, before it clips them and updates."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, TRAINER, codes

from transpile import Options, Outcome
from transpile import convert as convert_on_any_way

MEAN = LOOP.replace("label)\n", "label).mean()\n")
APART = TRAINER.replace("})", "}, update_on_kvstore=False)")
GATHER = "        trainer.allreduce_grads()\n"
CLIP = (
    "        gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1)\n"
)
AVERAGED = GATHER + "        average_gradients(trainer)\n" + CLIP


def trained(loop: str, steps: str) -> str:
    """A script that trains in a loop, and does something with the gradients in it."""
    return HEAD + LOADER + APART + loop + steps


@pytest.mark.parametrize("divisor", ["1", "2", "scale"])
def test_gradients_of_a_mean_are_averaged_before_they_are_clipped(divisor: str) -> None:
    script = "scale = 1\n" + trained(MEAN, f"{GATHER}{CLIP}        trainer.update({divisor})\n")
    result = convert(script)
    assert f"{AVERAGED}        trainer.update({divisor})\n" in result.text


def test_gradients_of_a_sum_stay() -> None:
    result = convert(trained(LOOP, GATHER + CLIP + "        trainer.update(data.shape[0])\n"))
    assert "average_gradients" not in result.text
    assert "trainer.update(data.shape[0] * get_num_workers())" in result.text


def test_a_step_that_adds_them_up_again_divides_by_the_workers() -> None:
    result = convert(trained(MEAN, GATHER + CLIP + "        trainer.step(1)\n"))
    assert f"{AVERAGED}        trainer.step(get_num_workers())\n" in result.text


def test_they_are_averaged_where_calls_are_split() -> None:
    script = trained(LOOP, GATHER + CLIP + "        trainer.update(batch_size)\n")
    result = convert_on_any_way(script, Options(shard="calls"))
    assert f"{AVERAGED}        trainer.update(batch_size)\n" in result.text


def test_they_may_be_added_up_in_a_function() -> None:
    function = f"def join(trainer):\n{GATHER[4:]}\n\n"
    steps = f"        join(trainer)\n{CLIP}        trainer.update(1)\n"
    result = convert(function + trained(MEAN, steps))
    assert GATHER[4:] + "    average_gradients(trainer)\n" in result.text
    assert "trainer.update(1)" in result.text


def test_what_reads_them_before_is_refused() -> None:
    result = convert(trained(MEAN, CLIP + GATHER + "        trainer.update(1)\n"))
    assert result.outcome is Outcome.REFUSED
    assert [each.code for each in result.findings].count("MX304") == 1


@pytest.mark.parametrize(
    "gather",
    ["        done = trainer.allreduce_grads()\n", "        [trainer][0].allreduce_grads()\n"],
)
def test_a_place_where_nothing_can_be_written_is_refused(gather: str) -> None:
    result = convert(trained(MEAN, gather + CLIP + "        trainer.update(1)\n"))
    assert result.outcome is Outcome.REFUSED and "MX304" in codes(result)


def test_an_average_is_settled() -> None:
    once = convert(trained(MEAN, GATHER + CLIP + "        trainer.update(1)\n")).text
    assert convert(once, Options(respect_distributed=False)).text == once


@pytest.mark.parametrize("given", ["batch_size", "batch_size, ignore_stale_grad=True"])
def test_an_update_that_adds_nothing_up_becomes_a_step(given: str) -> None:
    result = convert(trained(LOOP, f"        trainer.update({given})\n"))
    assert f"        trainer.step({given})\n" in result.text
    assert convert(result.text, Options(respect_distributed=False)).text == result.text


def test_an_update_with_a_mean_divides_by_the_workers() -> None:
    result = convert(trained(MEAN, "        trainer.update(1)\n"))
    assert "        trainer.step(get_num_workers())\n" in result.text


def test_gradients_that_are_clipped_before_an_update_are_added_up_there() -> None:
    result = convert(trained(LOOP, CLIP + "        trainer.update(batch_size)\n"))
    early = "        add_up_gradients(trainer)\n" + CLIP + "        step_alone(trainer)(batch_size)"
    assert early in result.text


@pytest.mark.parametrize(
    "steps",
    [
        "        if epoch:\n            trainer.allreduce_grads()\n"
        "        trainer.update(batch_size)\n",
        "        trainer.update(batch_size)\n" + GATHER,
        "        trainer._allreduce_grads()\n        trainer.update(batch_size)\n",
        "        update = trainer.update\n        update(batch_size)\n",
        "        for each in (trainer, mx.metric.Loss()):\n            each.update(batch_size)\n",
    ],
)
def test_updates_that_are_alone_on_some_ways_are_refused(steps: str) -> None:
    result = convert(trained(LOOP, steps))
    assert result.outcome is Outcome.REFUSED and "MX304" in codes(result)


def test_gradients_added_up_on_the_same_condition_are_those_of_all() -> None:
    steps = "        if epoch:\n            trainer.allreduce_grads()\n"
    result = convert(trained(LOOP, steps + "            trainer.update(batch_size)\n"))
    assert result.outcome is Outcome.CONVERTED and "trainer.update(batch_size)" in result.text
