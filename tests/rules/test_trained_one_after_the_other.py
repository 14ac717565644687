"""One function that trains several models, one after the other, as in lessons on transfer."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1))
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.body(x))


x = torch.randn(48, 4)
y = (x.sum(1) > 0).long()
loaders = {p: DataLoader(TensorDataset(x, y), batch_size=12) for p in ["train", "val"]}


def train_model(model, optimizer, num_epochs):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            for images, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = nn.functional.cross_entropy(model(images), labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
    return model


first = Net()
size = first.fc.in_features
first.fc = nn.Linear(size, 2)
first = train_model(first, torch.optim.SGD(first.parameters(), lr=0.1), 2)
second = Net()
size = second.fc.in_features
second.fc = nn.Linear(size, 2)
second = train_model(second, torch.optim.SGD(second.fc.parameters(), lr=0.1), 2)
"""


def test_parts_are_replaced_before_the_second_training() -> None:
    result = convert(SCRIPT, path="train.py")
    assert result.outcome is Outcome.CONVERTED, [finding.message for finding in result.findings]
    lines = [line.strip() for line in result.text.splitlines()]
    assert lines.count("model = DistributedDataParallel(model)") == 1
    assert "unwrap(" not in result.text


def test_the_epochs_are_told_to_the_sampler_and_the_ranks_part_once() -> None:
    lines = convert(SCRIPT, path="train.py").text.splitlines()
    head = lines.index("    for epoch in range(num_epochs):")
    assert lines[head - 1].strip() == "vary_seed()"
    assert lines[head + 2].strip() == 'loaders["train"].sampler.set_epoch(epoch)'


def test_parts_that_are_replaced_behind_the_training_are_refused_where_it_goes_on() -> None:
    text = SCRIPT + "first.fc = nn.Linear(8, 3)\n"
    assert "unwrap(first).fc = nn.Linear(8, 3)\n" in convert(text, path="train.py").text
    text += "train_model(first, torch.optim.SGD(first.parameters(), lr=0.1), 2)\n"
    assert convert(text, path="train.py").outcome is Outcome.REFUSED
