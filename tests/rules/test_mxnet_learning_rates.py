"""How learning rates of MXNet's scripts follow a batch that grows with the workers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, LOADER, LOOP, STEP, SYMBOL, codes

from transpile import Options, Outcome

LINEAR = Options(batch_size="per-device", scale_lr="linear")
ROOT = Options(batch_size="per-device", scale_lr="sqrt")


def trained(trainer: str) -> str:
    """A Gluon script with this trainer."""
    return HEAD + LOADER + trainer + LOOP + STEP


def fitted(arguments: str) -> str:
    """A Module script with these arguments of ``fit``."""
    return HEAD + SYMBOL + f"module.fit(train, {arguments}, num_epoch=1)\n"


SCALED = {
    "a dict": (
        trained('trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})\n'),
        '{"learning_rate": scale_learning_rate(0.1)}',
    ),
    "a dict elsewhere": (
        trained(
            "settings = dict(learning_rate=0.1, wd=0.1)\n"
            'trainer = gluon.Trainer(net.collect_params(), "sgd", settings)\n'
        ),
        "dict(learning_rate=scale_learning_rate(0.1), wd=0.1)",
    ),
    "an optimizer": (
        trained(
            "sgd = mx.optimizer.SGD(learning_rate=0.1)\n"
            "trainer = gluon.Trainer(net.collect_params(), sgd)\n"
        ),
        "SGD(learning_rate=scale_learning_rate(0.1))",
    ),
    "the rate of an optimizer by itself": (
        trained('trainer = gluon.Trainer(net.collect_params(), "sgd")\n'),
        '"sgd", optimizer_params={"learning_rate": scale_learning_rate(0.01)}',
    ),
    "a rate set later": (
        GLUON + STEP + "    trainer.set_learning_rate(0.01)\n",
        "trainer.set_learning_rate(scale_learning_rate(0.01))",
    ),
    "fit": (fitted('optimizer_params={"learning_rate": 0.1}'), "scale_learning_rate(0.1)"),
    "pairs": (
        fitted('optimizer_params=(("learning_rate", 0.1), ("wd", 0.1))'),
        '(("learning_rate", scale_learning_rate(0.1)), ("wd", 0.1))',
    ),
    "fit by itself": (
        fitted('optimizer="sgd"'),
        'optimizer_params={"learning_rate": scale_learning_rate(0.01)}',
    ),
    "a model of symbols": (
        HEAD
        + SYMBOL
        + "model = mx.model.FeedForward(symbol, num_epoch=1, learning_rate=0.1)\n"
        + "model.fit(train)\n",
        "learning_rate=scale_learning_rate(0.1)",
    ),
    "a schedule": (
        fitted(
            'optimizer_params={"lr_scheduler": mx.lr_scheduler.PolyScheduler(max_update=80, '
            "base_lr=0.1, final_lr=0.01)}"
        ),
        "base_lr=scale_learning_rate(0.1), final_lr=scale_learning_rate(0.01)",
    ),
}


@pytest.mark.parametrize("name", SCALED)
def test_rates_follow_the_number_of_workers(name: str) -> None:
    script, piece = SCALED[name]
    result = convert(script, LINEAR)
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert piece in result.text
    assert not codes(result) & {"MX235"}
    again = convert(result.text, replace(LINEAR, respect_distributed=False))
    assert again.text == result.text


def test_rates_follow_the_root_of_the_number_of_workers() -> None:
    text = convert(GLUON + STEP, ROOT).text
    assert '{"learning_rate": scale_learning_rate_by_root(0.1)}' in text
    assert "return learning_rate * get_num_workers() ** 0.5" in text


def test_a_rate_made_of_that_of_the_trainer_follows_by_itself() -> None:
    decayed = "    trainer.set_learning_rate(trainer.learning_rate * 0.1)\n"
    assert decayed.strip() in convert(GLUON + STEP + decayed, LINEAR).text


def test_rates_stay_without_being_asked_for() -> None:
    per_device = convert(GLUON + STEP, Options(batch_size="per-device"))
    assert '{"learning_rate": 0.1}' in per_device.text
    assert "MX233" in codes(per_device)
    assert "MX233" not in codes(convert(GLUON + STEP))


def test_what_cannot_be_followed_is_said() -> None:
    script = trained(
        'import json\n\nsettings = json.load(open("settings.json"))\n'
        'trainer = gluon.Trainer(net.collect_params(), "sgd", settings)\n'
    )
    assert "MX235" in codes(convert(script, LINEAR))
    adam = trained('trainer = gluon.Trainer(net.collect_params(), "adam")\n')
    assert "MX232" in codes(convert(adam, LINEAR))
    assert "MX232" not in codes(convert(adam, ROOT))


def test_a_schedule_that_is_told_no_rate_is_said() -> None:
    schedule = "mx.lr_scheduler.FactorScheduler(step=len(loader))"
    script = trained(
        f"trainer = gluon.Trainer(net.collect_params(), 'sgd', {{'lr_scheduler': {schedule}}})\n"
    )
    assert "MX235" in codes(convert(script, LINEAR))


def test_counts_of_batches_that_stay_are_said() -> None:
    steps = "schedule = mx.lr_scheduler.FactorScheduler(step={}, factor=0.5)\n"
    fit = FIT.replace("0.1}", '0.1, "lr_scheduler": schedule}')
    fixed = convert(HEAD + SYMBOL + steps.format("100") + fit, LINEAR)
    found = [f for f in fixed.findings if f.code == "MX234"]
    assert len(found) == 1 and "100 / N (50 for N = 2)" in found[0].advice
    for step in ("len(loader)", "100 // mx.kv.create('device').num_workers"):
        counted = convert(HEAD + LOADER + SYMBOL + steps.format(step) + fit, LINEAR)
        assert ("MX234" in codes(counted)) is (step == "len(loader)")
    # That loader is not trained with; with one that is, the count follows.
    trainer = (
        f"{steps.format('len(loader)')}trainer = gluon.Trainer(net.collect_params(), 'sgd', "
        "{'learning_rate': 0.1, 'lr_scheduler': schedule})\n"
    )
    assert "MX234" not in codes(convert(trained(trainer), LINEAR))
    assert "MX234" not in codes(convert(trained(trainer.replace("len(loader)", "9"))))
