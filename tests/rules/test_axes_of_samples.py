"""Samples that do not meet one by one, because one tensor lacks an axis that the other has."""

from __future__ import annotations

import pytest
from single_rule import plan_of
from test_quantity_of_frameworks import measured

from transpile.quantity.asking import Kind, quantity
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


PADDED = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

first = nn.Linear(4, 1)
layer = {layer}
optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8):
    h = layer(first(x))
    padded = F.pad(h, {widths})
    optimizer.zero_grad()
    padded.mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("layer", "widths", "across"),
    [
        ("nn.Conv2d(1, 1, 3)", "[1, 2, 3, 4]", False),
        ("nn.ConvTranspose2d(1, 1, 2, stride=2)", "(1, 1, 1, 1)", False),
        ("nn.Upsample(scale_factor=2)", "[1, 2, 3, 4]", False),
        ("nn.Conv1d(1, 1, 3)", "[1, 2]", False),
        # What may have no other axes than these is padded with samples.
        ("nn.Conv1d(1, 1, 3)", "[1, 2, 3, 4]", True),
        ("nn.Conv2d(1, 1, 3)", "[1, 2, 3, 4, 5, 6]", True),
        ("nn.BatchNorm1d(1)", "[1, 2, 3, 4]", True),
        ("nn.Linear(1, 1)", "[1, 2, 3, 4]", True),
        ("nn.Identity()", "[1, 2, 3, 4]", True),
    ],
)
def test_layers_of_pictures_have_axes_behind_the_samples(
    layer: str, widths: str, across: bool
) -> None:
    plan = plan_of(PADDED.format(layer=layer, widths=widths))
    [event] = plan.facts.calls_to("torch.nn.functional.pad")
    found = quantity(plan, event.result)
    assert (found.kind is Kind.UNKNOWN) is across, found
    assert across or found.dim == 0
