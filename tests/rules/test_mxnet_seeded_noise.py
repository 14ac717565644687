"""Noise that MXNet's training draws from generators that the script seeds."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, STEP, SYMBOL, TRAINER, codes

from transpile import Outcome

MADE = "rng = np.random.{made}\n"
NOISY = LOOP.replace(
    "        with autograd", "        data = data + mx.nd.array(rng.{draw})\n        with autograd"
)


def script(draw: str, made: str = "RandomState(3)") -> str:
    """A script that adds what a generator draws to its batches."""
    return HEAD + LOADER + TRAINER + MADE.format(made=made) + NOISY.format(draw=draw) + STEP


@pytest.mark.parametrize("made", ["RandomState(3)", "default_rng(seed=3)"])
@pytest.mark.parametrize(
    "draw",
    [
        "normal(0, 0.1, size=data.shape)",
        "normal(0, 1, (data.shape[0], 4))",
        "uniform(size=(len(data), 4))",
    ],
)
def test_noise_for_a_share_is_told(draw: str, made: str) -> None:
    assert "MX320" in codes(convert(script(draw, made)))


@pytest.mark.parametrize(
    "draw", ["normal()", "normal(size=(4,))", "normal(size=(1, data.shape[1]))"]
)
def test_what_all_samples_have_in_common_is_right(draw: str) -> None:
    assert not codes(convert(script(draw)))


def test_a_generator_without_a_seed_differs_by_itself() -> None:
    assert "MX320" not in codes(convert(script("normal(size=data.shape)", "default_rng()")))


def test_noise_for_a_whole_batch_is_refused() -> None:
    for draw in ("normal(0, 1, (8, 4))", "randn(batch_size, 4)"):
        result = convert(script(draw))
        assert result.outcome is Outcome.REFUSED and "MX223" in codes(result)


def test_a_chain_of_modules_in_one_expression_is_followed() -> None:
    parts = "first = mx.mod.Module(symbol)\nsecond = mx.mod.Module(symbol)\n"
    chain = "module = mx.mod.SequentialModule().add(first).add(second, take_labels=True)\n"
    fit = "module.fit(train, num_epoch=1)\n"
    result = convert(HEAD + SYMBOL + parts + chain + fit)
    assert result.outcome is Outcome.CONVERTED and "MX302" not in codes(result)
