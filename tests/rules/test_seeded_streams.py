"""Streams that draw random numbers: from generators that begin alike in every process, or not."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, seed=3):
        self.seed = seed
        self.epoch = 0
        {kept}

    def __iter__(self):
        {drawn}
        for i in range(48):
            yield torch.ones(4) * i, torch.ones(1)


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Stream(), batch_size=12):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ALIKE = [
    "random.Random(3).shuffle(list(range(48)))",
    "rng: random.Random = random.Random(self.seed + self.epoch); rng.random()",
    "np.random.default_rng(self.seed).permutation(48)",
    "g = torch.Generator().manual_seed(self.seed); torch.randperm(48, generator=g)",
    "g = torch.Generator(); g.manual_seed(self.seed); torch.randperm(48, generator=g)",
]
OWN = [
    "random.Random().shuffle(list(range(48)))",
    "random.Random(None).random()",
    "random.Random(os.getpid()).random()",
    "random.Random(torch.initial_seed()).random()",
    "random.Random(hash('name')).random()",
    "random.Random(random.random()).random()",
    "np.random.default_rng().permutation(48)",
    "g = torch.Generator(); g.seed(); torch.randperm(48, generator=g)",
    "g = torch.Generator().manual_seed(os.getpid()); torch.randperm(48, generator=g)",
    "torch.randperm(48)",
    "torch.randperm(48, generator=None)",
    "random.Random(3).random(); random.random()",
]


def is_refused(drawn: str, kept: str = "pass") -> bool:
    """Whether the stream cannot be shared out."""
    found = convert(SCRIPT.format(drawn=drawn, kept=kept)).findings
    return "PT210" in {one.code for one in found}


@pytest.mark.parametrize("drawn", ALIKE)
def test_generators_with_a_seed_draw_the_same_everywhere(drawn: str) -> None:
    assert not is_refused(drawn)


@pytest.mark.parametrize("drawn", OWN)
def test_other_generators_do_not(drawn: str) -> None:
    assert is_refused(drawn)


@pytest.mark.parametrize(
    ("made", "refused"), [("random.Random(3)", False), ("random.Random()", True)]
)
def test_generators_that_are_kept(made: str, refused: bool) -> None:
    assert is_refused("self.rng.random()", f"self.rng = {made}") is refused
