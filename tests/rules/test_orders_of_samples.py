"""Samples that an index brings into another order meet other ones in each process's share."""

from __future__ import annotations

import pytest
from small_scripts import findings, script

MIXED = "x = 0.5 * x + 0.5 * x[index]\ny = 0.5 * y + 0.5 * y[index]"


@pytest.mark.parametrize(
    "index",
    [
        "torch.arange(len(x)).flip(0)",
        "torch.arange(x.size(0) - 1, -1, -1)",
        "torch.arange(len(x)).roll(1)",
        "torch.arange(0, len(x), 2)",
        "x[:, 0].argsort()",
        "x[:, 0].sort(dim=0).indices",
        "torch.tensor([i ^ 1 for i in range(len(x))])",
        "[2, 0, 1]",
        "range(len(x) - 1, -1, -1)",
        "list(range(len(x)))[::-1]",
        "range(len(x))[::-1]",
        "list(reversed(range(len(x))))",
        "[i ^ 1 for i in range(len(x))]",
    ],
)
def test_another_order_is_a_warning(index: str) -> None:
    assert findings(script(batch=f"index = {index}\n{MIXED}"), "PT403")


@pytest.mark.parametrize("turned", ["torch.flip(y, dims=[0])", "torch.roll(y, 1, dims=0)"])
def test_turned_batches_are_a_warning(turned: str) -> None:
    assert findings(script(batch=f"y = y + {turned}"), "PT403")


@pytest.mark.parametrize(
    "index",
    [
        "torch.arange(len(x))",
        "range(len(x))",
        "torch.arange(0, x.shape[0]).long()",
        "torch.randperm(len(x))",
        "torch.randperm(x.size(0))[: len(x)]",
    ],
)
def test_the_same_order_or_one_by_chance_is_none(index: str) -> None:
    assert not findings(script(batch=f"index = {index}\n{MIXED}"), "PT403")
