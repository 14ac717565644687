"""Batches that are copied into tensors of the rows of whole ones."""

from __future__ import annotations

import pytest
from small_scripts import findings, script

from transpile import Level, convert

PLACE = "place = torch.zeros(4, 3)"
COPY = "place.copy_(x)"


def source_of(place: str, copy: str) -> str:
    return script(model=place, batch=copy)


@pytest.mark.parametrize(
    ("place", "copy"),
    [
        (PLACE, COPY),
        ("place = torch.empty((4, 3), device='cuda')", COPY),
        ("place = torch.empty(4, 3).cuda()", "place.copy_(x, non_blocking=True)"),
        ("place = torch.empty(4, 3).pin_memory()", "place.copy_(x.float())"),
    ],
)
def test_copies_of_batches_are_told(place: str, copy: str) -> None:
    assert [level for level, _, _ in findings(source_of(place, copy), "PT237")] == [Level.WARNING]


@pytest.mark.parametrize(
    ("place", "copy"),
    [
        (PLACE, "place.resize_(x.shape).copy_(x)"),
        ("place = torch.zeros(5, 3)", "place.copy_(x.repeat(2, 1)[:5])"),
        (PLACE, "place.copy_(torch.ones(4, 3))"),
    ],
)
def test_other_copies_are_not(place: str, copy: str) -> None:
    assert findings(source_of(place, copy), "PT237") == []


def test_whole_batches_go_into_such_tensors() -> None:
    source = source_of(PLACE, COPY).replace("model(x)", "model(place)")
    assert "SplitCalls(" in convert(source.encode(), path="train.py").text
