"""Numbers of the batch that set up a loss, a function or a layer: they are whole, or told."""

from __future__ import annotations

import pytest
from test_quantity import check, measured

from transpile.quantity.asking import Duty, Kind

SPREAD = "m.std().item()"
SETTINGS = {
    "delta": "F.huber_loss(out, x, delta={})",
    "beta": "F.smooth_l1_loss(out, x, beta={})",
    "margin": "F.margin_ranking_loss(m, -m, y, margin={})",
    "label_smoothing": "F.cross_entropy(out, y, label_smoothing={})",
    "p": "out.norm(dim=1, p={}).mean()",
    "eps": "F.normalize(out, eps={}).mean()",
    "argument 1": "nn.LeakyReLU({})(out).mean()",
    "argument 2": "out.nan_to_num(0.0, {}).mean()",
}
UNNAMED = [
    "torch.add(out, x, alpha={}).pow(2).mean()",
    "torch.sub(out, other={}).pow(2).mean()",
    "F.huber_loss(out, x, 'mean', {})",
    "F.dropout(out, p={}).mean()",
    "nn.HuberLoss(delta={})(out, x)",
    "nn.Sequential(nn.Softplus({}))(out).mean()",
]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_this_share_is_told_by_its_name(name: str) -> None:
    found = measured(SETTINGS[name].format(SPREAD))
    assert found.kind is Kind.UNKNOWN
    assert f"'{name}' of '" in found.reason


@pytest.mark.parametrize("expression", UNNAMED)
def test_so_is_one_by_position_or_of_a_layer(expression: str) -> None:
    check(expression.format(SPREAD), "unknown")


def test_what_is_set_on_the_object_of_a_loss_counts() -> None:
    lines = ["criterion = nn.HuberLoss()", f"criterion.delta = {SPREAD}", "q = criterion(out, x)"]
    found = measured("\n".join(lines))
    assert found.kind is Kind.UNKNOWN
    assert "'delta' of 'huber_loss'" in found.reason


def test_a_partial_function_keeps_its_settings() -> None:
    lines = ["import functools", f"crit = functools.partial(F.huber_loss, delta={SPREAD})"]
    check("\n".join([*lines, "q = crit(out, x)"]), "unknown")


@pytest.mark.parametrize("expression", [*SETTINGS.values(), *UNNAMED[2:-1]])
def test_a_mean_is_taken_over_all_processes_first(expression: str) -> None:
    found = measured(expression.format("m.abs().mean().item()"))
    assert found.kind is Kind.PART
    assert [each.duty for each in found.pending] == [Duty.NUMBER]


@pytest.mark.parametrize("setting", ["0.5", "args.alpha", "weights.mean().item()", "x.size(1)"])
@pytest.mark.parametrize("expression", [*SETTINGS.values(), *UNNAMED[2:]])
def test_settings_of_the_script_are_as_they_were(expression: str, setting: str) -> None:
    found = measured(expression.format(setting))
    assert found.is_mean
    assert not found.pending


def test_factors_of_summands_count() -> None:
    check("torch.add(out.mean(), out.sum(), alpha=1 / len(x))", "mean")
    check("torch.add(out.mean(), out.sum(), alpha=0.5)", "mean and sum")
    check("torch.rsub(out.sum(), out.mean(), alpha=1 / len(x))", "mean")
    check("torch.div(out.sum(), other=len(x))", "mean")
