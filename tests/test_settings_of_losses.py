"""How losses reduce by their arguments, and what is multiplied as a whole."""

from __future__ import annotations

import libcst as cst
import pytest

from transpile.facts.values import Argument, Arguments, Constant
from transpile.plan.vocabulary import Loss
from transpile.quantity.losses.settings import settings_of
from transpile.rules.pytorch.losses._multiples import multiplies_well

OLD = ("size_average", "reduce", "reduction")
MSE = Loss("mse_loss", 2, OLD, OLD)


@pytest.mark.parametrize(
    ("name", "value", "reduction"),
    [
        ("reduction", "elementwise_mean", "mean"),
        ("reduction", "sum", "sum"),
        ("size_average", False, "sum"),
        ("size_average", True, "mean"),
        ("reduce", False, "none"),
        ("reduce", True, "mean"),
    ],
)
def test_old_and_new_words_tell_how_a_loss_reduces(
    name: str, value: object, reduction: str
) -> None:
    arguments = Arguments((Argument((Constant(value),), None, name),))
    assert settings_of(MSE, arguments, as_function=False).reduction == reduction


@pytest.mark.parametrize(
    ("text", "well"),
    [("a + b", False), ("a - b", False), ("a if b else c", False), ("a * b", True), ("f(a)", True)],
)
def test_a_factor_behind_an_expression_multiplies_all_of_it_or_not(text: str, well: bool) -> None:
    assert multiplies_well(cst.parse_expression(text)) is well
