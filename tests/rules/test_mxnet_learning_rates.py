"""How learning rates of MXNet's scripts follow a batch that grows with the workers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, LOADER, LOOP, STEP, SYMBOL, TRAINER, codes

from transpile import Options, Outcome, Result

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


SPLIT = """\
for data, label in loader:
    parts = gluon.utils.split_and_load(data, ctx), gluon.utils.split_and_load(label, ctx)
    with autograd.record():
        losses = [loss_fn(net(x), y) for x, y in zip(*parts)]
    autograd.backward(losses)
    trainer.step(@)
"""


def on_devices(ctx: str, options: Options, size: str = "8", step: str = "batch_size") -> Result:
    loader = LOADER.replace("batch_size = 8", f"ctx = {ctx}\nbatch_size = {size}")
    return convert(HEAD + loader + TRAINER + SPLIT.replace("@", step), options)


@pytest.mark.parametrize("ctx", ["[mx.gpu(0), mx.gpu(1)]", "[mx.gpu(i) for i in range(2)]"])
def test_each_device_takes_the_batch_of_the_script(ctx: str) -> None:
    result = on_devices(ctx, LINEAR, step="8")
    assert "batch_size = times_devices(8, 2)\n" in result.text
    assert "trainer.step(times_devices(8 * get_num_workers(), 2))" in result.text
    assert '"learning_rate": scale_learning_rate(times_devices(0.1, 2))' in result.text
    assert "scale_learning_rate_by_root(times_devices(0.1, 2**0.5))" in on_devices(ctx, ROOT).text
    assert "times_devices" not in on_devices(ctx, Options()).text


def test_a_step_by_the_rows_of_a_batch_follows_it() -> None:
    result = on_devices("[mx.gpu(0), mx.gpu(1)]", LINEAR, step="data.shape[0]")
    assert "batch_size = times_devices(8, 2)\n" in result.text
    assert "trainer.step(data.shape[0] * get_num_workers())" in result.text
    assert "MX218" not in codes(result)


def test_devices_that_are_counted_already_count_once() -> None:
    result = on_devices("[mx.gpu(i) for i in range(2)]", LINEAR, "8 * len(ctx)")
    assert "times_devices" not in result.text
    assert "MX217" not in codes(result)


def test_devices_that_only_a_run_can_count_are_told() -> None:
    result = on_devices("[mx.gpu(i) for i in range(mx.context.num_gpus())]", LINEAR)
    assert "times_devices" not in result.text
    assert "MX217" in codes(result)


def test_one_device_takes_the_batch_of_the_script() -> None:
    assert "times_devices" not in on_devices("[mx.gpu(0)]", LINEAR).text
