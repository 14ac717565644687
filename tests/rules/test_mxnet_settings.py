"""Optimizers of MXNet's scripts that are set to what the batches say."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, STEP, codes

from transpile import Options, Outcome

COUNTED = "        seen += SIZE\n        trainer.set_learning_rate(0.1 * 64 / (64 + seen))\n"


def trained(setting: str) -> str:
    """A training loop with some lines before its step."""
    return "seen = best = 0\n" + GLUON + setting + STEP


@pytest.mark.parametrize(
    "setting",
    [
        "trainer.set_learning_rate(0.1 / (1 + float(loss.mean().asscalar())))",
        "trainer.optimizer.lr = 0.1 / (1 + loss.mean().asscalar())",
        "trainer._optimizer.wd = 0.1 * loss.mean().asscalar()",
        "trainer.optimizer.set_learning_rate(min(0.1, loss.mean().asscalar()))",
        "best = max(best, loss.mean().asscalar()); trainer.set_learning_rate(best)",
    ],
)
def test_what_is_made_of_a_mean_is_that_of_all_workers(setting: str) -> None:
    result = convert(trained(f"        {setting}\n"))
    assert "average_workers(loss.mean().asscalar())" in result.text
    assert "MX613" not in codes(result)


@pytest.mark.parametrize("size", ["len(label)", "label.size", "data.shape[0]"])
def test_a_count_of_samples_behind_a_rate_grows_by_those_of_all(size: str) -> None:
    result = convert(trained(COUNTED.replace("SIZE", size)))
    assert f"seen += {size} * get_num_workers()" in result.text
    assert "MX613" not in codes(result)


@pytest.mark.parametrize(
    "setting",
    [
        "trainer.set_learning_rate(0.01 * len(label))",
        "seen = seen + len(label); trainer.set_learning_rate(0.1 / seen)",
        "trainer.set_learning_rate(loss.mean().sqrt().asscalar())",
        "trainer.set_learning_rate(loss.max().asscalar())",
        "trainer.optimizer.lr = float(loss[0].asscalar())",
    ],
)
def test_what_does_not_add_up_is_warned_of(setting: str) -> None:
    result = convert(trained(f"        {setting}\n"))
    assert result.outcome is Outcome.CONVERTED
    assert "MX613" in codes(result)


@pytest.mark.parametrize(
    "setting",
    [
        "trainer.set_learning_rate(0.1 / (1 + epoch))",
        "trainer.set_learning_rate(0.1 * batch_size / 64)",
        "seen += 1; trainer.set_learning_rate(0.1 / (seen + len(loader)))",
        "trainer.set_learning_rate(trainer.learning_rate * 0.9)",
        "loss.lr = loss.max().asscalar()",
    ],
)
def test_what_all_workers_have_alike_stays(setting: str) -> None:
    result = convert(trained(f"        {setting}\n"))
    assert setting in result.text
    assert not codes(result) & {"MX605", "MX613"}


def test_a_number_cannot_be_added_up_by_servers_that_update() -> None:
    script = trained("        trainer.set_learning_rate(loss.mean().asscalar())\n")
    result = convert(script, Options(kvstore="dist_async"))
    assert "average_workers(" not in result.text and "MX613" in codes(result)


def test_what_is_reduced_is_settled() -> None:
    script = trained(COUNTED.replace("SIZE", "len(label)"))
    once = convert(script).text
    assert convert(once, Options(respect_distributed=False)).text == once
