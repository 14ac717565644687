"""One place in the text that makes the loaders of training and of evaluation."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(split):
    x = torch.randn(36, 3)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    shuffle = split == "train"
    return DataLoader(data, batch_size=12, shuffle=shuffle)


def run_step(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    if model.training:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate():
    model.eval()
    total = sum(run_step(x, y) for x, y in test_loader)
    model.train()
    return total / len(test_loader)


train_loader = make_loader("train")
test_loader = make_loader("test")
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in train_loader:
        run_step(x, y)
    print(evaluate())
"""


def test_what_runs_without_gradients_does_not_train() -> None:
    text = convert(SCRIPT.encode()).text
    assert "train_loader = shard_loader(train_loader)" in text
    assert "shard_loader(test_loader)" not in text


def test_what_runs_in_the_mode_of_evaluation_does_not_train() -> None:
    text = convert(SCRIPT.replace("@torch.no_grad()\n", "").encode()).text
    assert "train_loader = shard_loader(train_loader)" in text
    assert "shard_loader(test_loader)" not in text


def test_one_shuffles_and_the_other_does_not() -> None:
    script = SCRIPT.replace("@torch.no_grad()\n", "").replace(
        "    if model.training:\n", "    if x is not None:\n"
    )
    text = convert(script.encode()).text
    assert "shuffle=train_sampler is None and shuffle" in text
    assert "DistributedSampler(data, shuffle=shuffle" in text
