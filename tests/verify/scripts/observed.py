"""Uses loaders and optimizers in every way that the observers must understand."""

# mypy: ignore-errors

import collections
import copy
import os

import torch
from torch import nn
from torch.optim import SGD
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([float(index)])


class Stream(IterableDataset):
    def __iter__(self):
        yield from (torch.tensor([float(number)]) for number in range(5))


class Twice(SGD):
    """Calls its base class's step, which is no second step."""

    def step(self, closure=None):
        return super().step(closure)


def train(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()


def first_of(loader):
    for batch in loader:
        return batch


model = nn.Linear(1, 1)
plain = SGD([{"params": [model.weight], "lr": 0.1}, {"params": [model.bias], "lr": 0.2}], lr=0.3)

persistent = DataLoader(Numbers(), batch_size=4, num_workers=1, persistent_workers=True)
train(model, plain, persistent)
train(model, plain, persistent)
first_of(DataLoader(Numbers(), batch_size=2, num_workers=2))
list(DataLoader(Subset(Subset(Numbers(), [7, 5, 3, 1]), [2, 0]), batch_size=2))
list(DataLoader([1.0, 2.0, 3.0], batch_size=None))
list(DataLoader(Numbers(), batch_sampler=[[0, 1, 2], [6]]))
list(DataLoader(Stream(), batch_size=2))
list(DataLoader(Stream(), batch_size=2))

twice = Twice(model.parameters(), lr=0.01)
train(model, twice, DataLoader(Numbers(), batch_size=8))

search = torch.optim.LBFGS(model.parameters(), max_iter=3)


def closure():
    search.zero_grad()
    loss = (model(torch.ones(2, 1)) ** 2).sum()
    loss.backward()
    return loss


search.step(closure)

scaler = torch.amp.GradScaler("cpu")
scaled = SGD(model.parameters(), lr=0.01)
for value in (1.0, float("inf"), 1.0):
    scaled.zero_grad()
    scaler.scale(model(torch.full((1, 1), value)).sum()).backward()
    scaler.step(scaled)
    scaler.update()

copied = copy.deepcopy(scaled)
for parameter in copied.param_groups[0]["params"]:
    parameter.grad = torch.ones_like(parameter)
copied.step()
never = SGD(model.parameters(), lr=1.0)

state = collections.OrderedDict(model.state_dict())
torch.save({"net": state, "history": [1.0, 2.0], "groups": plain.param_groups}, "state.pt")
torch.save(model, "whole.pt")
with open("numbers.txt", "w") as file:
    file.write("1\n")
os.replace("numbers.txt", "renamed.txt")
os.makedirs("out/deep", exist_ok=True)
os.makedirs("out/deep", exist_ok=True)
os.makedirs("seeded", exist_ok=True)
open(os.devnull, "w").close()
open("numbers.txt", "w").close()
os.remove("numbers.txt")
