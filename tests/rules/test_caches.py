"""Data sets that make a cache where it is missing, and then read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from small_scripts import script

from transpile import Outcome

CACHED = """\
import shutil
from pathlib import Path

import lmdb
import torch


class Cached(torch.utils.data.Dataset):
    def __init__(self, source, cache=".cache"):
        if not Path(cache).exists():
            shutil.rmtree(cache, ignore_errors=True)
            self.build(source, cache)
        self.env = lmdb.open(cache, create=False, lock=False, readonly=True)

    def build(self, source, cache):
        with lmdb.open(cache, map_size=int(1e9)) as env:
            for line in open(source):
                with env.begin(write=True) as txn:
                    txn.put(line[:4].encode(), line.encode())

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.zeros(4), 0
"""
TRAIN = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

from cached import Cached


def data_set(name):
    if name == "cached":
        return Cached(sys.argv[2])
    raise ValueError(name)


data = data_set(sys.argv[1])
loader = DataLoader(data, batch_size=8, shuffle=True)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
TURNS = """\
        with main_process_first():
            if not Path(cache).exists():
                shutil.rmtree(cache, ignore_errors=True)
                self.build(source, cache)
        self.env = lmdb.open(cache, create=False, lock=False, readonly=True)
"""


def test_the_processes_take_turns_where_it_is_decided_to_make_the_cache(tmp_path: Path) -> None:
    """Once, around the test for the cache: what happens in a function called there is inside."""
    (tmp_path / "cached.py").write_text(CACHED)
    train = tmp_path / "train.py"
    train.write_text(TRAIN)
    result = convert(train.read_bytes(), path=str(train))
    assert result.outcome is Outcome.CONVERTED
    assert [each for each in result.findings if each.level.label != "note"] == []
    (changed,) = [module for module in result.changed_modules if module.path.endswith("cached.py")]
    assert TURNS in changed.data.decode()
    assert "main_process_first" not in result.text


@pytest.mark.parametrize("clears", ["shutil.rmtree('runs')", "os.rename('runs', 'runs.old')"])
def test_what_makes_room_for_something_new_is_done_by_one_process(clears: str) -> None:
    """In turns, the last process would clear away what the first has made by then."""
    model = f"if os.path.exists('runs'):\n    {clears}\nos.makedirs('runs', exist_ok=True)"
    text = convert(script(top="import os, shutil", model=f"{model}\nmodel = nn.Linear(3, 1)")).text
    assert "with main_process_first():" not in text
    guarded = text[text.index("    if is_main_process():\n        if os.path.exists('runs'):") :]
    assert guarded.index(clears) < guarded.index("os.makedirs('runs', exist_ok=True)")
