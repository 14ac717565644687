"""What code does that draws samples, each process does for those that it draws."""

from __future__ import annotations

from typing import Literal

import pytest

from transpile import Options, convert

SCRIPT = """\
import os, pickle
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate

x, y = torch.randn(48, 3), torch.randn(48, 1)


class Data(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        path = f"{{i}}.pt"
        {drawn}
        return x[i], y[i]


def collate(items):
    {joined}
    return default_collate(items)


net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for a, b in DataLoader(Data(), batch_size=8, collate_fn=collate):
        loss = nn.functional.mse_loss(net(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(net.state_dict(), "m.pt")
"""
Way = Literal["data", "calls"]
SAVED = "if not os.path.exists(path):\n    torch.save(x[i], path)"
PICKLED = "with open(path, 'wb') as file:\n    pickle.dump(x[i], file)"
ADDED = "with open('seen.log', 'a') as file:\n    file.write(f'{i}\\n')"
PRINTED = "print('drawn', i)"


def converted(way: Way, drawn: str = "pass", joined: str = "pass") -> tuple[str, list[str]]:
    """The code in front of the model, and how its effects are spoken of."""
    depth = "\n" + " " * 8
    text = SCRIPT.format(drawn=drawn.replace("\n", depth), joined=joined.replace("\n", depth[:-4]))
    result = convert(text, Options(shard=way), path="train.py")
    assert "is_main_process()" in result.text.partition("net = nn.Linear")[2]
    told = [each.level.name for each in result.findings if each.code == "PT512"]
    return result.text.partition("class Data")[2].partition("net = nn")[0], told


@pytest.mark.parametrize(
    ("way", "drawn", "told"),
    [
        ("data", SAVED, ["WARNING"]),
        ("data", PICKLED, ["WARNING"]),
        ("data", ADDED, ["WARNING"]),
        ("data", PRINTED, ["NOTE"]),
        ("calls", SAVED, ["WARNING"]),
        ("calls", PICKLED, ["WARNING"]),
    ],
)
def test_each_process_writes_what_it_draws(way: Way, drawn: str, told: list[str]) -> None:
    assert converted(way, drawn) == (converted(way)[0].replace("pass", drawn_as(drawn), 1), told)


def drawn_as(drawn: str) -> str:
    """A body as it stands in the script."""
    return drawn.replace("\n", "\n" + " " * 8)


@pytest.mark.parametrize(
    ("drawn", "once"), [(ADDED, "if is_main_process():"), (PRINTED, "print_once")]
)
def test_where_all_draw_all_samples_rank_0_alone_tells_of_them(drawn: str, once: str) -> None:
    text, told = converted("calls", drawn)
    assert once in text
    assert told == []


def test_what_puts_a_batch_together_counts_as_well() -> None:
    joined = "torch.save(len(items), f'{len(items)}.txt')"
    text, told = converted("data", joined=joined)
    assert "    " + joined in text.splitlines()
    assert told == ["WARNING"]


HELPER = """\
def {name}(*what):
    {body}


"""


@pytest.mark.parametrize(
    ("body", "once", "told"),
    [
        ("print(*what)", "print_once(*what)", []),
        ("torch.save(what, 'what.pt')", "if is_main_process():", ["WARNING"]),
    ],
)
def test_what_is_called_beside_samples_as_well_stays_that_of_rank_0(
    body: str, once: str, told: list[str]
) -> None:
    helper = HELPER.format(name="note", body=body)
    text = SCRIPT.format(drawn="note(i)", joined="pass")
    text = text.replace("class Data", helper + "class Data")
    result = convert(text + "    note(epoch)\n", Options(shard="data"), path="train.py")
    assert once in result.text.partition("def note")[2].partition("class Data")[0]
    assert [one.level.name for one in result.findings if one.code == "PT512"] == told
