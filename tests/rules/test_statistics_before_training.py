"""Statistics that another loader was read for, and modes that are switched for each batch."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, shift=0.0):
        self.x = torch.arange(36.0)[:, None] - shift

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index]


class Data:
    def __init__(self):
        points = torch.cat([batch for batch in DataLoader(Points(), batch_size=12)])
        self.train = DataLoader(Points(points.mean()), batch_size=12, shuffle=True)


def hold_statistics(model):
    def hold(module):
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = 0

    model.apply(hold)


data = Data()
model = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for x in data.train:
        hold_statistics(model)
        optimizer.zero_grad()
        (model(x) - 1).square().mean().backward()
        optimizer.step()
"""


def test_the_loader_of_the_statistics_stays_whole() -> None:
    result = convert(SCRIPT.encode())
    assert result.outcome is Outcome.CONVERTED
    assert "in DataLoader(Points(), batch_size=12)]" in result.text
    assert "split_batch(12), shuffle=train_sampler is None" in result.text


def test_a_mode_is_switched_behind_the_wrap() -> None:
    text = convert(SCRIPT.encode()).text
    assert text.index("model = DistributedDataParallel(model)") < text.index("for epoch in")
