"""Loaders that are made in every epoch: their samplers must still be told which epoch it is."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

HEAD = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


"""
PASS = """\
    for x, y in {loader}:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


"""
LOADER = "DataLoader(data, batch_size=8, shuffle=True)"
ONE_EPOCH = "def one_epoch({parameters}):\n    loader = " + LOADER + "\n" + PASS.format(
    loader="loader"
)  # fmt: skip


def told(text: str) -> str:
    """What the sampler is told, in a script that a second conversion leaves as it is."""
    result = convert((HEAD + text).encode())
    assert result.outcome is Outcome.CONVERTED
    again = convert(result.data, Options(respect_distributed=False))
    assert again.text == result.text
    _, _, rest = result.text.partition(".set_epoch(")
    return rest.partition("\n")[0].removesuffix(")")


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        (
            ONE_EPOCH.format(parameters="number")
            + "for epoch in range(3):\n    one_epoch(epoch)\n",
            "number",
        ),
        (
            ONE_EPOCH.format(parameters="epoch=0, lr=0.1")
            + "for number in range(3):\n    one_epoch(lr=0.1, epoch=number)\n",
            "epoch",
        ),
        (
            ONE_EPOCH.format(parameters="") + "for epoch in range(3):\n    one_epoch()\n",
            "epoch",
        ),
        (
            ONE_EPOCH.format(parameters="epoch") + "for _ in range(3):\n    one_epoch(7)\n",
            "next_epoch()",
        ),
        (
            ONE_EPOCH.format(parameters="") + "count = 0\nwhile count < 3:\n    one_epoch()\n"
            "    count += 1\n",
            "next_epoch()",
        ),
        (
            "def make():\n    return " + LOADER + "\n\n\nfor _ in range(3):\n"
            "    loader = make()\n" + PASS.format(loader="loader"),
            "next_epoch()",
        ),
        (
            "def main():\n    def one_epoch():\n        loader = " + LOADER + "\n"
            + "".join(f"    {line}\n" for line in PASS.format(loader="loader").splitlines())
            + "\n    for epoch in range(3):\n        one_epoch()\n\n\nmain()\n",
            "epoch",
        ),
    ],
)  # fmt: skip
def test_sampler_of_a_new_loader_is_told_a_number_that_grows(text: str, epoch: str) -> None:
    assert told(text) == epoch


def test_loader_made_once_is_told_the_epoch_where_it_was() -> None:
    loop = PASS.format(loader="loader").replace("\n", "\n    ")
    text = f"loader = {LOADER}\nfor epoch in range(3):\n    {loop}"
    assert told(text) == "epoch"


PHASES = """\
names = ["train", "valid"]{more}
for epoch in range(3):
    for phase in names:
        loader = DataLoader(data, batch_size=8, shuffle=phase == "train")
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize("more", ["", ' + (["test"] if torch.cuda.is_available() else [])'])
def test_a_loader_that_trains_in_one_phase_of_several_is_no_training_loader(more: str) -> None:
    """Its batches in the other phases are those of evaluations, which are not sharded."""
    result = convert((HEAD + PHASES.format(more=more)).encode())
    assert result.outcome is Outcome.REFUSED
    (code,) = {finding.code for finding in result.findings if finding.level.label == "error"}
    assert code in ("PT202", "PT206")
