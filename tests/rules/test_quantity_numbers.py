"""What expressions are taken for is what they are: whole batches and shares are computed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import libcst as cst
import pytest
from number_expressions import EQUALS, MEANS, OTHERS, ROWS, SUMS

from transpile.facts.interpreter import interpret
from transpile.options import Options
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.quantity.asking import Kind, Quantity, describe, quantity
from transpile.rules.pytorch import TABLE
from transpile.text.source import read_source

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,)), torch.rand(48)),
                    batch_size=12)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = torch.rand(3)
fixed = torch.randn(16, 4)
alpha = 0.3
for x, y, m in loader:
    out = model(x)
    {lines}
    F.cross_entropy(out, y).backward()
    optimizer.step()
"""
EVERY = [*ROWS, *MEANS, *SUMS, *EQUALS, *OTHERS]
SHARES = (2, 3)
Space = dict[str, Any]


@functools.cache
def claims() -> dict[str, Quantity]:
    """What the analysis takes each expression for, all of them in one script."""
    lines = [f"q{number} = {text}" for number, text in enumerate(EVERY)]
    source = read_source(SCRIPT.format(lines="\n    ".join(lines)).encode(), "train.py")
    project = Project(source, None)
    plan = build_plan(
        interpret(project.entry, TABLE.dialect, project.find), TABLE, Options(shard="data")
    )
    found: dict[str, Quantity] = {}
    for node in plan.entry.source.nodes:
        if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name):
            name = node.targets[0].target.value
            if name[0] == "q" and name[1:].isdigit():
                found[EVERY[int(name[1:])]] = quantity(plan, plan.facts.values_of(node.value))
    return found


@functools.cache
def spaces() -> dict[int, list[Space]]:
    """The variables of a whole batch, and of the shares of several processes."""
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    x, y, m = torch.randn(12, 4), torch.arange(12).mul(7).remainder(3), torch.rand(12)
    common = {
        "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "model": model, "alpha": 0.3,
        "weights": torch.rand(3), "fixed": torch.randn(16, 4),
    }  # fmt: skip
    torch.set_default_dtype(before)

    def part(rows: slice) -> Space:
        return {**common, "x": x[rows], "y": y[rows], "m": m[rows], "out": model(x[rows])}

    return {
        ranks: [part(slice(at, at + 12 // ranks)) for at in range(0, 12, 12 // ranks)]
        for ranks in (1, *SHARES)
    }


def computed(text: str, space: Space) -> Any:
    """An expression in double precision, as a tensor."""
    torch = space["torch"]
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return torch.as_tensor(eval(text, dict(space))).to(torch.float64)
    finally:
        torch.set_default_dtype(before)


def gradient(value: Any, space: Space) -> Any:
    """What the weights of the model get of a number."""
    torch = space["torch"]
    weight = space["model"].weight
    if not value.requires_grad:
        return torch.zeros_like(weight)
    found = torch.autograd.grad(value.sum(), weight, retain_graph=True, allow_unused=True)[0]
    return torch.zeros_like(weight) if found is None else found


def holds(text: str, found: Quantity) -> bool:
    """Whether numbers show what an expression is taken for; what is not told holds anyway."""
    if found.kind in (Kind.UNKNOWN, Kind.SHAPE) or found.pending or found.degree is None:
        return True
    if found.content == "place" or (found.kind is Kind.SAMPLE and found.dim is None):
        return True
    (whole,) = spaces()[1]
    torch = whole["torch"]
    expected = computed(text, whole)

    def same(first: Any, second: Any) -> bool:
        return first.shape == second.shape and bool(torch.allclose(first, second, atol=1e-9))

    for ranks in SHARES:
        shares = spaces()[ranks]
        parts = [computed(text, one) for one in shares]
        scale = float(ranks) ** found.degree
        if found.kind is Kind.SAMPLE and found.coupled:
            mean = sum(one.mean() for one in parts) / ranks
            if not same(mean * scale, expected.mean()):
                return False
        elif found.kind is Kind.SAMPLE:
            if not same(torch.cat(parts, found.dim) * scale, expected):
                return False
        elif found.kind is Kind.PART:
            if len({one.shape for one in parts}) > 1 or not same(
                torch.stack(parts).mean(0) * scale, expected
            ):
                return False
            slopes = [gradient(one, space) for one, space in zip(parts, shares, strict=True)]
            if not same(torch.stack(slopes).mean(0) * scale, gradient(expected, whole)):
                return False
        elif not all(same(one * scale, expected) for one in parts):
            return False
    return True


def test_there_are_many() -> None:
    assert len(set(EVERY)) == len(EVERY) > 300


@pytest.mark.parametrize("text", EVERY)
def test_what_is_claimed_holds(text: str) -> None:
    found = claims()[text]
    assert holds(text, found), describe(found)


@pytest.mark.parametrize(
    ("texts", "is_it"),
    [
        (ROWS, lambda found: found.kind is Kind.SAMPLE and found.dim == 0),
        (MEANS, lambda found: found.kind is Kind.PART and found.degrees == {0}),
        (SUMS, lambda found: found.kind is Kind.PART and found.degrees == {1}),
        (EQUALS, lambda found: found.independent),
    ],
    ids=["rows", "means", "sums", "equals"],
)
def test_what_is_simple_is_known(texts: list[str], is_it: Callable[[Quantity], bool]) -> None:
    found = claims()
    assert [(text, describe(found[text])) for text in texts if not is_it(found[text])] == []


@pytest.mark.parametrize(
    ("text", "taken_for"),
    [
        ("x.sum()", "torch.mean(out ** 2)"),
        ("out.mean()", "torch.sum(out ** 2)"),
        ("x.softmax(0)", "out"),
        ("out.mean().exp()", "torch.mean(out ** 2)"),
        ("x.sum()", "weights.sum()"),
    ],
)
def test_numbers_show_what_is_mistaken(text: str, taken_for: str) -> None:
    """An expression that is taken for another one does not hold."""
    assert not holds(text, claims()[taken_for])
