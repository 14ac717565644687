"""Buffers that a wrap cannot send, states that a first batch changes, and orders of words."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

words = np.array(["cat", "dog", "bird"])[np.arange(24) % 3]
numbers = torch.arange(24) % 3
names = {names}
labels = torch.tensor([list(names).index(one) for one in {source}])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        table = torch.zeros(50, 3)
        self.register_buffer("table", {table})

    def forward(self, x):
        return self.layer(x) + self.table.sum()


loader = DataLoader(TensorDataset(torch.randn(24, 6), labels), batch_size=12)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def converted(
    names: str = "[0, 1, 2]", source: str = "numbers.tolist()", table: str = "table"
) -> str:
    return convert(
        SCRIPT.format(names=names, source=source, table=table), Options(shard="data")
    ).text


@pytest.mark.parametrize(
    "table",
    [
        "table.unsqueeze(0).transpose(0, 1)",
        "table[None].transpose(0, 1)",
        "torch.transpose(torch.unsqueeze(table, 0), 0, 1)",
        "table[:1].expand(50, 3)",
        "table.unsqueeze(0).permute(1, 0, 2).float()",
    ],
)
def test_buffers_that_are_laid_out_otherwise_are_copied(table: str) -> None:
    assert f"contiguous_copy({table})" in converted(table=table)


@pytest.mark.parametrize("table", ["table", "table.t()", "table.unsqueeze(0)", "table * 2"])
def test_other_buffers_are_left_alone(table: str) -> None:
    assert "contiguous_copy" not in converted(table=table)


@pytest.mark.parametrize(
    ("names", "source"),
    [
        ("list(set(words))", "words"),
        ("list(set(words.tolist()))", "words"),
        ("list(set(np.genfromtxt('names.txt', dtype=str)))", "words"),
        ("[one for one in set(words.tolist())]", "words"),
    ],
)
def test_sets_of_words_have_one_order_on_all_processes(names: str, source: str) -> None:
    text = converted(names=names, source=source)
    assert "from_main_process(" in text or "sorted(" in text


def test_sets_of_numbers_have_it_anyway() -> None:
    text = converted(names="list(set(numbers.tolist()))")
    assert "from_main_process(" not in text
    assert "sorted(" not in text


def test_the_classes_of_a_share_are_not_those_of_rank_0() -> None:
    """What a loop goes over is this process's own, and stays so."""
    step = (
        "for c in set(y.tolist()):\n        loss = loss + model(x[y == c]).mean()\n    loss = loss"
    )
    text = SCRIPT.format(names="[0, 1, 2]", source="numbers.tolist()", table="table")
    text = text.replace("    optimizer.zero_grad()\n", f"    {step}\n    optimizer.zero_grad()\n")
    assert "from_main_process(set" not in convert(text, Options(shard="data")).text
    assert "from_main_process(list" not in convert(text, Options(shard="data")).text
