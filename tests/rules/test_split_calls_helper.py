"""What the emitted wrap makes of outputs that are no plain tensors."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import pytest

torch = pytest.importorskip("torch")
helper = importlib.import_module("transpile.rules.pytorch.emitted.split_calls")


@dataclasses.dataclass
class Output:
    """What a model returns."""

    logits: Any
    loss: Any = None


def test_the_tensors_of_a_dataclass_are_gathered() -> None:
    found = helper.each_tensor(lambda tensor, axis: tensor + 1, Output(torch.zeros(2)), 0)
    assert isinstance(found, Output)
    assert found.logits.tolist() == [1, 1] and found.loss is None


def test_what_may_hold_tensors_unseen_is_not_passed_over() -> None:
    seen: list[object] = []
    law = torch.distributions.Categorical(logits=torch.zeros(2, 3))
    helper.each_tensor(lambda value, axis: seen.append(value), (law, "name", 3, None), 0)
    assert seen == [law]


def test_a_mean_that_is_nearly_that_of_all_rows_has_no_rows() -> None:
    """Losses of a model that has learned nothing yet hardly differ from row to row."""
    differences: list[bool] = []
    whole = {"loss": torch.tensor(1.0986), "scale": torch.tensor(0.07)}
    rows = {"loss": torch.tensor(1.0987), "scale": torch.tensor(0.07)}
    assert helper.axes_of(rows, whole, 0, 8, differences) == {"loss": None, "scale": None}
    assert differences == [True, False]
