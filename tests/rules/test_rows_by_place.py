"""Rows that are paired with samples by their place in a batch, and such as are all alike."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import random
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randn(48, 2))
size = 12
{ahead}
loader = DataLoader(data, batch_size={size})
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        {line}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
WEIGHED = "loss = (({rows}) * (out - y).pow(2).mean(1)).mean()"
PLAIN = "loss = F.mse_loss(out, y)"


def found(line: str, ahead: str = "", size: str = "size") -> set[str]:
    """The codes of warnings and errors where batches are shared."""
    text = SCRIPT.format(line=line, ahead=ahead, size=size)
    result = convert(text, Options(shard="data"))
    assert result.outcome in (Outcome.CONVERTED, Outcome.REFUSED), result.findings
    return {one.code for one in result.findings if one.level.name in ("WARNING", "ERROR")}


@pytest.mark.parametrize(
    ("ahead", "rows"),
    [
        ("bank = torch.rand(64)", "bank[: x.size(0)]"),
        ("bank = torch.rand(64)", "bank[: len(x)]"),
        ("bank = torch.rand(64)", "bank[torch.arange(len(x))]"),
        ("bank = torch.rand(64)", "bank.split(len(x))[0]"),
        ("", "torch.linspace(0, 1, 64)[: len(out)]"),
        ("", "torch.tensor([1.0, 0.0]).repeat(len(x) // 2)"),
        ("w = torch.ones(size)\nw[::2] = 0", "w"),
        ("w = torch.ones(size)\nw[: size // 2] = 0", "w"),
        ("w = torch.rand(size)", "w"),
        ("w = torch.arange(size) / size", "w"),
        ("w = torch.tensor([1.0, 2.0] * 6)", "w"),
        ("bank = torch.ones(64)\nbank.uniform_()", "bank[: len(x)]"),
        ("bank = torch.empty(64).normal_()", "bank[: len(x)]"),
        ("bank = torch.empty(64)\nnn.init.uniform_(bank)", "bank[: len(x)]"),
        ("bank = torch.ones(64).mul_(torch.arange(64))", "bank[: len(x)]"),
        ("w = torch.empty(size).uniform_()", "w"),
        ("w = torch.zeros(size)\nw.normal_()", "w"),
        ("w = torch.empty(size)\nnn.init.uniform_(w)", "w"),
        ("bank = torch.rand(64)\nat = 0", "bank[torch.arange(at, (at := at + len(x))) % 64]"),
        ("bank = torch.rand(64)\nat = 0", "bank[(at := at + len(x)) % 64]"),
        ("bank = np.random.rand(64)\nat = 0", "torch.tensor(bank[at : (at := at + len(x))])"),
        ("bank = [1.0, 2.0] * 32\nat = 0", "torch.tensor(bank[at : (at := at + len(x))])"),
        ("rows = 12", "torch.stack([torch.tensor(1.0 + i) for i in range(rows)])"),
    ],
)
def test_rows_that_differ_by_place_are_told(ahead: str, rows: str) -> None:
    assert found(WEIGHED.format(rows=rows), ahead)


@pytest.mark.parametrize(
    ("ahead", "rows"),
    [
        ("", "1"),
        ("w = torch.ones(64)", "w[: x.size(0)]"),
        ("w = torch.full((64,), 0.5).float()", "w[: len(x)]"),
        ("w = torch.ones(size)", "w"),
        ("w = torch.ones(64).mul_(0.5)", "w[: len(x)]"),
        ("w = torch.empty(64).fill_(0.5)", "w[: len(x)]"),
        ("w = torch.zeros(size)\nw.fill_(2.0)", "w"),
        ("w = torch.zeros(size).add_(1)", "w"),
        ("token = torch.rand(1)", "token.repeat(len(x))"),
        ("bank = torch.rand(64)", "bank[:3].sum()"),
        ("bank = torch.rand(64)", "bank[5]"),
        ("bank = torch.rand(64)", "bank[epoch]"),
        ("bank = torch.rand(64)", "bank[epoch % 64 + 1]"),
        ("bank = torch.ones(64)\nat = 0", "bank[(at := at + len(x)) % 64]"),
    ],
)
def test_rows_that_are_alike_are_left_alone(ahead: str, rows: str) -> None:
    assert found(WEIGHED.format(rows=rows), ahead) == set()


@pytest.mark.parametrize(
    ("size", "expected"),
    [("12", set()), ("7", {"PT240"}), ("25", {"PT240"}), ("1", {"PT240"}), ("2", set())],
)
def test_odd_batches_are_warned_of(size: str, expected: set[str]) -> None:
    assert found(PLAIN, size=size) == expected


@pytest.mark.parametrize(
    ("ahead", "line"),
    [
        ("rng = random.Random(3)", "noise = torch.tensor([rng.random() for _ in x])"),
        ("rng = np.random.RandomState(3)", "noise = torch.from_numpy(rng.rand(*out.shape[:1]))"),
        ("rng = torch.Generator().manual_seed(3)", "noise = torch.rand(len(x), generator=rng)"),
    ],
)
def test_seeded_generators_that_draw_for_each_sample(ahead: str, line: str) -> None:
    weighed = WEIGHED.format(rows="noise")
    assert "PT704" in found(f"{line}; {weighed}", ahead)
    once = "noise = rng.random()" if "random.Random" in ahead else "noise = 1"
    assert "PT704" not in found(f"{once}; {weighed}", ahead)
