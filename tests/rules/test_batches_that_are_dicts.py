"""Batches that are dicts, taken apart and put together again by their entries."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        return {{"x": torch.ones(3) * i, "labels": i % 3}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, labels):
        logits = self.fc(x)
        return {{"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}}


def to_device(batch, device):
    if isinstance(batch, dict):
        return {{k: to_device(v, device) for k, v in batch.items()}}
    return batch.to(device)


device = torch.device("cpu")
loader = DataLoader(Rows(), batch_size=6, shuffle=True)
model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for batch in loader:
        {taken}
        loss = model({given})["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {{loss.item():.5f}}")
"""


def said(taken: str, given: str = "**batch") -> list[str]:
    """The codes of all that is more than a note, with batches sharded."""
    found = convert(SCRIPT.format(taken=taken, given=given)).findings
    return [one.code for one in found if one.level is not Level.NOTE]


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        ("batch = {k: v.to(device) for k, v in batch.items()}", "**batch"),
        ("inputs = {k: v.to(device) for k, v in batch.items()}", "**inputs"),
        ("batch = {k: v.to(device) for k, v in batch.items()}", 'batch["x"], batch["labels"]'),
        ("batch = {k: v.to(device) if k != 'labels' else v for k, v in batch.items()}", "**batch"),
        ("x, labels = (v.to(device) for v in batch.values())", "x, labels"),
        ("batch = to_device(batch, device)", "**batch"),
        ("for k, v in batch.items():\n            batch[k] = v.to(device)", "**batch"),
        ("for k in batch.keys():\n            batch[k] = batch[k].to(device)", "**batch"),
    ],
)
def test_entries_are_parts_of_the_batch(taken: str, given: str) -> None:
    assert said(taken, given) == []


@pytest.mark.parametrize(
    "change", ["v / v.float().mean()", "v - v.flip(0)", "v[v.float().argmax()] + v"]
)
def test_what_couples_the_samples_of_an_entry_is_seen(change: str) -> None:
    assert "PT403" in said(f"batch = {{k: {change} for k, v in batch.items()}}")
