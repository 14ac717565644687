"""The check that rows do not depend on each other, where a model draws noise."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from ranks import run_ranks

from transpile import Options, convert

torch = pytest.importorskip("torch")
helper = importlib.import_module("transpile.rules.pytorch.emitted.noise")
split_calls = importlib.import_module("transpile.rules.pytorch.emitted.split_calls")


#: Functions of some rows that draw.
APART = {
    "randn_like": lambda x: x + torch.randn_like(x),
    "in place": lambda x: x + x.data.new(x.size()).normal_(),
    "gumbel": lambda x: torch.nn.functional.gumbel_softmax(x),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.4),
    "a law": lambda x: torch.distributions.Normal(x, 1 + x.abs()).rsample(),
    "about a mean": lambda x: torch.normal(x, 2.0),
    "coins": lambda x: x * torch.bernoulli(x.sigmoid()),
    "coins in place": lambda x: x * torch.empty_like(x).bernoulli_(x.sigmoid()),
    "numbers": lambda x: x + torch.randint(0, 5, (len(x), 1)),
}
COUPLED = {
    "mixed up": lambda x: x + x[torch.randperm(len(x))],
    "about the mean of all": lambda x: torch.normal(x - x.mean(0), 2.0),
    "coins by all": lambda x: x * torch.bernoulli((x - x.mean(0)).sigmoid()),
    "centred": lambda x: x - x.mean(0) + torch.randn_like(x),
}


@pytest.mark.parametrize("name", [*APART, *COUPLED])
def test_rows_are_told_apart_under_noise(name: str) -> None:
    compute: Any = {**APART, **COUPLED}[name]
    x = torch.linspace(-1, 1, 24).view(6, 4).cos()
    torch.manual_seed(3)
    with helper.same_noise():
        whole = compute(x)
    torch.manual_seed(3)
    with helper.same_noise():
        rows = compute(x[2:4])
    differences: list[bool] = []
    split_calls.axes_of(rows, whole, 2, 6, differences)
    assert any(differences) is (name in COUPLED)


SCRIPT = """\
import torch
from torch import nn
from library import Encoder


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Linear(3, 8)

    def forward(self, x):
        mean, scale = self.encoder(x).chunk(2, 1)
        noise = {noise}
        return self.decoder(mean + scale.exp() * noise), mean


torch.manual_seed(0)
x = torch.rand(32, 8)
model = Noisy()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in range(0, 32, 8):
    out, mean = model(x[start : start + 8])
    loss = (out - x[start : start + 8]).pow(2).mean() + mean.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
LIBRARY = """\
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 6)

    def forward(self, x):
        return self.inner(x)
"""


@pytest.mark.parametrize(
    "noise", ["torch.randn_like(scale)", "scale.data.new(scale.size()).normal_()"]
)
def test_a_model_that_draws_is_no_reason_to_stop(noise: str, tmp_path: Path) -> None:
    result = convert(SCRIPT.format(noise=noise), Options(shard="calls"))
    assert "CheckedSplitCalls(" in result.text
    output = tmp_path / "train_dist.py"
    output.write_bytes(result.data)
    (tmp_path / "library.py").write_text(LIBRARY, "utf-8")
    ended = run_ranks(output, 2)
    assert all(one.status == 0 for one in ended), ended[0].errors + ended[1].errors
