"""What batches give, put where the whole process has it: names, the environment, seeds."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import math
import os
import random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randn(48, 2))
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rng, other = np.random.RandomState(0), torch.Generator()
os.environ["SCALE"] = "1.0"
scale = math.scale = 1.0


class Config:
    scale = 1.0


for step, (x, y) in enumerate(DataLoader(data, batch_size=12)):
    loss = (model(x) - y).pow(2).mean() * float({read})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {put}
torch.save(model.state_dict(), "model.pt")
"""
BY_BATCH, ALIKE = "float(y.abs().max())", "0.5"
NAMES = {
    "scale": (
        'globals()["scale"] = {value}',
        "globals().update(scale={value})",
        'vars()["scale"] = {value}',
        'locals()["scale"] = {value}',
        'globals().__setitem__("scale", {value})',
    ),
    'globals()["scale"]': ("scale = {value}", 'globals()["scale"] = {value}'),
    "Config.scale": (
        'type.__setattr__(Config, "scale", {value})',
        'setattr(Config, "scale", {value})',
    ),
    'Config.__dict__["scale"]': ("Config.scale = {value}",),
    'vars(Config)["scale"]': ("Config.scale = {value}",),
    'os.environ["SCALE"]': (
        'os.environ["SCALE"] = str({value})',
        "os.environ.update(SCALE=str({value}))",
        'os.putenv("SCALE", str({value})); os.environ["SCALE"] = str({value})',
    ),
    "math.scale": ("math.scale = {value}", 'setattr(math, "scale", {value})'),
    'os.getenv("SCALE")': ('os.environ["SCALE"] = str({value})',),
    'os.environ.get("SCALE", "1")': ('os.environ.update({{"SCALE": str({value})}})',),
}
CASES = [(read, put) for read, several in NAMES.items() for put in several]
SEEDS = [
    "torch.manual_seed({value})",
    "random.seed({value})",
    "np.random.seed({value})",
    "rng.seed({value})",
    "other.manual_seed({value})",
    "own = np.random.default_rng({value})",
    "own = random.Random({value})",
]


def found(read: str, put: str) -> set[str]:
    """The codes of warnings and errors where batches are shared."""
    result = convert(SCRIPT.format(read=read, put=put), Options(shard="data"))
    assert result.outcome in (Outcome.CONVERTED, Outcome.REFUSED), result.findings
    return {one.code for one in result.findings if one.level.name in ("WARNING", "ERROR")}


@pytest.mark.parametrize(("read", "put"), CASES)
def test_what_a_batch_gives_is_followed_through_names(read: str, put: str) -> None:
    assert "PT403" in found(read, put.format(value=BY_BATCH))


@pytest.mark.parametrize(("read", "put"), CASES)
def test_what_all_have_alike_stays_so(read: str, put: str) -> None:
    assert found(read, put.format(value=ALIKE)) == set()


@pytest.mark.parametrize("put", SEEDS)
def test_seeds_of_a_share_are_told(put: str) -> None:
    assert "PT743" in found("1", put.format(value="int(y.abs().max())"))
    assert "PT743" in found("1", put.format(value="len(x)"))
    assert found("1", put.format(value="step + 3")) == set()
