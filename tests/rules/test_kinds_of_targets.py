"""Targets that are probabilities, whose mean no weight changes, and those that number classes."""

from __future__ import annotations

import pytest
from test_quantity import measured


@pytest.mark.parametrize(
    "target", ["out.softmax(1)", "y.float()", "y / 2", "out.softmax(1) * 2", "y * 0.5"]
)
def test_means_over_probabilities_are_those_over_samples(target: str) -> None:
    found = measured(f"F.cross_entropy(out, {target}, weight=weights)")
    assert (found.degrees, bool(found.pending)) == (frozenset({0}), False)


@pytest.mark.parametrize("target", ["y", "y * 2", "y + 1", "y.to('cpu')"])
def test_means_over_numbers_of_classes_are_taken_by_their_weights(target: str) -> None:
    needs = bool(measured(f"F.cross_entropy(out, {target}, weight=weights)").pending)
    assert needs
