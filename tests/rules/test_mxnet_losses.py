"""How the losses of an MXNet script are reduced: by hybrid blocks, roots, ratios and axes."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, codes

from transpile.finding import Level

LOSS_CLASS = """\
class OwnLoss(gluon.BASE):
    def hybrid_forward(self, F, prediction, label):
        return EXPRESSION


loss_fn = OwnLoss()
"""


def script(expression: str, step: str, base: str = "HybridBlock") -> str:
    """A training script with a loss class of its own."""
    built_in = "loss_fn = gluon.loss.L2Loss()\n"
    assert built_in in GLUON
    own = LOSS_CLASS.replace("BASE", base).replace("EXPRESSION", expression)
    return GLUON.replace(built_in, own) + f"        trainer.step({step})\n"


def warned(text: str) -> set[str]:
    """The codes of the warnings for a script."""
    return {each.code for each in convert(text).findings if each.level is Level.WARNING}


@pytest.mark.parametrize(
    "expression",
    [
        "F.mean(F.square(prediction - label), axis=1)",
        "F.mean(F.square(prediction - label), 0, exclude=True)",
        "F.sum(F.abs(prediction - label), axis=(1,))",
        "-F.pick(F.log_softmax(prediction), label)",
        "F.broadcast_mul(F.abs(prediction), F.exp(label))",
    ],
)
def test_a_number_for_each_sample_adds_up(expression: str) -> None:
    text = script(expression, "data.shape[0]")
    assert "trainer.step(data.shape[0] * get_num_workers())\n" in convert(text).text
    assert not warned(text) & {"MX306", "MX314"}


@pytest.mark.parametrize(
    "expression",
    [
        "F.mean(F.square(prediction - label))",
        "F.square(prediction - label).mean(axis=0)",
        "F.mean(F.abs(prediction - label)) * 0.5",
        "F.mean(F.abs(prediction)) + F.mean(F.abs(label))",
    ],
)
def test_a_mean_in_a_hybrid_block_is_a_mean(expression: str) -> None:
    for base in ("HybridBlock", "loss.Loss"):
        text = script(expression, "1", base)
        assert "trainer.step(get_num_workers())\n" in convert(text).text
        assert not warned(text) & {"MX306", "MX314"}


@pytest.mark.parametrize(
    "expression",
    [
        "F.sqrt(F.mean(F.square(prediction - label)))",
        "F.sum(F.abs(prediction) * label) / F.sum(label)",
        "F.broadcast_div(F.sum(F.abs(prediction)), F.sum(label))",
        "F.mean(F.square(prediction - F.mean(prediction)))",
        "F.mean(prediction) * F.mean(label)",
        "F.mean(prediction - label) ** 2",
        "F.maximum(F.mean(prediction - label), 0)",
        "F.dot(prediction, prediction, transpose_b=True).mean()",
        "F.square(F.expand_dims(prediction, 0) - F.expand_dims(prediction, axis=1)).mean()",
        "F.abs(prediction - F.reshape(label, (1, -1))).mean()",
        "F.max(F.abs(prediction - label))",
        "F.mean(F.topk(F.abs(prediction - label), axis=0, k=3, ret_typ='value'))",
        "F.norm(prediction - label)",
    ],
)
def test_what_is_made_of_the_mean_of_a_batch_is_warned_of(expression: str) -> None:
    text = script(expression, "1")
    assert "MX314" in warned(text)
    assert "trainer.step(get_num_workers())\n" in convert(text).text


def test_the_root_of_a_mean_is_not_reported_as_a_mean() -> None:
    text = script("F.sqrt(F.mean(F.square(prediction - label)))", "1")
    shown = text.replace("trainer.step(1)\n", "trainer.step(1)\n        print(loss.asscalar())\n")
    assert "average_workers(loss" not in convert(shown).text
    assert "MX602" in codes(convert(shown))


def test_random_numbers_in_a_hybrid_block_take_the_share_of_a_worker() -> None:
    text = script(
        "F.abs(prediction - label + F.random_normal(shape=(batch_size, 1)))", "data.shape[0]"
    )
    assert "shape=(split_batch(batch_size), 1)" in convert(text).text


def test_samples_less_their_mean_are_warned_of() -> None:
    text = script("F.abs(prediction - label)", "data.shape[0]")
    assert "MX314" not in warned(text)
    for centred in ("data - data.mean()", "data / data.sum()", "data - data.mean(axis=0)"):
        changed = text.replace("net(data)", f"net({centred})")
        assert changed != text and "MX314" in warned(changed)
    apart = text.replace("net(data)", "net(data - data.mean(axis=1, keepdims=True))")
    assert "MX314" not in warned(apart)


def test_a_penalty_beside_a_sum_is_refused() -> None:
    """The store adds up what every worker has: the penalty as often as there are workers."""
    penalty = "0.1 * (net.weight.data() ** 2).sum()"
    text = script("F.abs(prediction - label)", "data.shape[0]")
    given = text.replace(
        "loss_fn(net(data), label)", f"loss_fn(net(data), label).sum() + {penalty}"
    )
    assert given != text
    assert "MX308" in codes(convert(given))
    assert "MX308" not in codes(convert(given.replace(f" + {penalty}", "")))
