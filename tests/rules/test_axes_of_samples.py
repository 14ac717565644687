"""Samples that do not meet one by one, because one tensor lacks an axis that the other has."""

from __future__ import annotations

import pytest
from test_quantity_of_frameworks import measured

from transpile.quantity.asking import Kind
from transpile.quantity.sample_axis.axes import CROSSED

#: What frameworks call a sum along the last axis that leaves it, and others.
WORDS = {
    "pytorch": ("dim", "keepdim", "unsqueeze(1)", "squeeze(1)", "torch.exp"),
    "paddle": ("axis", "keepdim", "unsqueeze(1)", "squeeze(1)", "paddle.exp"),
    "mxnet": ("axis", "keepdims", "expand_dims(axis=1)", "squeeze(axis=1)", "nd.exp"),
}
CROSSING = (
    "SUM / KEPT",
    "(out - m).square().mean(DIM=-1) * out[:, :1]",
    "KEPT - SUM",
    "EXP(SUM) * KEPT",
    "SUM * SUM.WIDE",
    "(out[:, 0] - out[:, :1]).abs()",
    "(out * SUM[:, None]) * SUM",
    "KEPT.FLAT + KEPT.FLAT.WIDE",
    "(SUM > KEPT) * 1",
)
MEETING = (
    "out / KEPT",
    "SUM / SUM",
    "SUM * out[:, 0]",
    "(out - m).square().mean(DIM=-1) * out[:, 1]",
    "SUM.WIDE * KEPT",
    "KEPT.FLAT - SUM",
    "EXP(SUM)[:, None] * out",
    "out * (out - m).square().mean(DIM=-1)[:, None]",
    "SUM + 2 * y",
)
CASES = [
    *((framework, True, text) for framework in WORDS for text in CROSSING),
    *((framework, False, text) for framework in WORDS for text in MEETING),
    *(
        (framework, crosses, text)
        for framework in ("pytorch", "paddle")
        for crosses, text in (
            (True, "m[:, 0] - out[:, :1]"),
            (True, "(KEPT - m.sum(DIM=1)) * 2"),
            (False, "m - out"),
            (False, "m[:, 0] * out[:, 1]"),
            (False, "m[:, :1] - SUM[:, None]"),
            (False, "KEPT - m[:, :1]"),
        )
    ),
    ("pytorch", True, "F.mse_loss(SUM, KEPT)"),
    ("paddle", True, "F.l1_loss(SUM, KEPT)"),
    ("pytorch", False, "F.mse_loss(SUM, out[:, 0])"),
    ("paddle", False, "F.l1_loss(SUM, out[:, 0])"),
]


@pytest.mark.parametrize(("framework", "crosses", "expression"), CASES)
def test_samples_meet_where_tensors_have_as_many_axes(
    framework: str, crosses: bool, expression: str
) -> None:
    dim, keeps, wide, flat, exp = WORDS[framework]
    for word, text in (
        ("KEPT", f"out.sum({dim}=1, {keeps}=True)"),
        ("SUM", f"out.sum({dim}=1)"),
        ("WIDE", wide),
        ("FLAT", flat),
        ("EXP", exp),
        ("DIM", dim),
    ):
        expression = expression.replace(word, text)
    found = measured(framework, expression)
    assert (found.reason == CROSSED) is crosses, found
    assert crosses or found.kind is not Kind.UNKNOWN
