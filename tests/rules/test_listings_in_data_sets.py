"""Listings of files that a data set makes when a sample is drawn."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __len__(self):
        return len(os.listdir("data"))

    def __getitem__(self, i):
        {name}
        return torch.from_numpy(np.load(os.path.join("data", name)))


loader = DataLoader(Files(), batch_size=4, shuffle=True)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x in loader:
        loss = model(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ('name = os.listdir("data")[i]', True),
        ('name = sorted(os.listdir("data"))[i]', False),
        ('name = f"{i}.npy" if f"{i}.npy" in os.listdir("data") else "none.npy"', False),
    ],
    ids=["as listed", "sorted", "looked up"],
)
def test_a_listing_by_which_samples_are_drawn_is_told(name: str, told: bool) -> None:
    found = convert(SCRIPT.replace("{name}", name))
    assert [each.line for each in found.findings if each.code == "PT732"] == [14] * told
