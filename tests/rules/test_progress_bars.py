"""A loader behind a progress bar of its own name: its sampler must be told the epoch, too."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

TRAINER = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


{function}
class Trainer:
    def __init__(self, loader):
        self.loader = loader
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self):
        for epoch in range(3):
            self.one_epoch()

    def one_epoch(self):
{body}

def loaders():
    data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
    return DataLoader(data, batch_size=8, shuffle=True)


Trainer(loaders()).fit()
"""
FUNCTION = """\
def run(model, optimizer, batches):
    for x, y in batches:
        step(model, optimizer, x, y)


"""
TOLD = """\
        for epoch in range(3):
            if get_world_size() > 1:
                self.loader.sampler.set_epoch(epoch)
"""


@pytest.mark.parametrize(
    ("body", "function"),
    [
        (
            "        bar = tqdm(self.loader)\n"
            "        for x, y in bar:\n"
            "            step(self.model, self.optimizer, x, y)\n",
            "",
        ),
        (
            "        bar = tqdm(enumerate(self.loader))\n"
            "        for index, (x, y) in bar:\n"
            "            step(self.model, self.optimizer, x, y)\n"
            "            bar.set_description(str(index))\n",
            "",
        ),
        ("        run(self.model, self.optimizer, tqdm(self.loader))\n", FUNCTION),
    ],
)
def test_a_loader_behind_a_bar_is_told_the_epoch(body: str, function: str) -> None:
    """The bar has no sampler, the loader that it goes through has one."""
    result = convert(TRAINER.format(body=body, function=function).encode())
    assert result.outcome is Outcome.CONVERTED
    assert TOLD in result.text
    again = convert(result.data, Options(respect_distributed=False))
    assert again.text == result.text


def test_a_loader_that_no_variable_names_is_refused() -> None:
    """The bar is all that the trainer keeps of the loader: the order would never change."""
    text = TRAINER.format(
        body="        for x, y in self.bar:\n            step(self.model, self.optimizer, x, y)\n",
        function="",
    ).replace("self.loader = loader", "self.bar = loader")
    result = convert(text.replace("Trainer(loaders())", "Trainer(tqdm(loaders()))").encode())
    assert result.outcome is Outcome.REFUSED
    assert [finding.code for finding in result.findings if finding.level.label == "error"] == [
        "PT212"
    ]


def test_what_is_stored_among_the_outputs_of_a_model_is_none_of_them() -> None:
    """A model with several outputs on one path, whose only output is masked on another."""
    result = convert(b"""\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


class Two(One):
    def forward(self, x):
        return self.layer(x), x


class Task:
    def __init__(self, model):
        self.model = model

    def mask(self, x):
        y = self.model(x)
        y[x != 0] = -1.0
        return y


loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8)
model = {"one": One, "two": Two}[sys.argv[1]]()
task = Task(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in loader:
        optimizer.zero_grad()
        out = model(x)
        out = out[0] if isinstance(out, tuple) else out
        (out**2).mean().backward()
        optimizer.step()
        task.mask(x)
        task.mask(x)
""")
    assert result.outcome is not Outcome.UNCHANGED
