"""What is made of sizes, and where samples are counted once axes are gone."""

from __future__ import annotations

import pytest
from test_quantity import measured

from transpile.quantity.algebra import PAIRS
from transpile.quantity.domain import Kind


@pytest.mark.parametrize("made", ["torch.zeros(x.size(0), x.size(0))", "torch.eye(x.size(0))"])
def test_an_entry_for_every_pair_of_samples_compares_them(made: str) -> None:
    found = measured(made)
    assert (found.kind, found.reason) == (Kind.UNKNOWN, PAIRS)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("torch.zeros(x.size(0), 4)", Kind.SAMPLE),
        ("torch.zeros(4, 4)", Kind.EQUAL),
        ("torch.eye(4)", Kind.EQUAL),
    ],
)
def test_one_axis_of_samples_or_none_pairs_nothing(made: str, kind: Kind) -> None:
    assert measured(made).kind is kind


@pytest.mark.parametrize(
    ("made", "dim"),
    [("x.t().mean(0)", 0), ("x.t().mean(0, keepdim=True)", 1), ("x.mean(1, keepdim=True)", 0)],
)
def test_axes_that_are_kept_leave_the_samples_where_they_are(made: str, dim: int) -> None:
    found = measured(made)
    assert (found.kind, found.dim) == (Kind.SAMPLE, dim)
