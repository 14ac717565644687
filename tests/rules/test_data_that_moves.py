"""Data sets that change while they are drawn from, go on by themselves, or give odd batches."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Outcome, Result

HEAD = """\
import itertools
import random

import numpy as np
import torch
from datasets import load_dataset
import streamlib
import webdataset as wds
from torch import nn
from torch.utils.data import (
    DataLoader, Dataset, IterableDataset, Sampler, Subset, TensorDataset, WeightedRandomSampler
)
from torch.utils.data.dataloader import default_collate

torch.manual_seed(0)
X, Y = torch.randn(48, 6), torch.randn(48, 1)
scores = [1.0] * 48
history, table = torch.zeros(48), torch.ones(48)
rng = np.random.default_rng(0)
"""
LOOP = """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for index, x, y in loader:
        losses = ((model(x) - y) ** 2).squeeze(1)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        BATCH
    EPOCH
"""
POOL = """
class Pool(Dataset):
    def __init__(self):
        self.keep, self.level, self.epoch = list(range(48)), 1, 0
        self.weights = torch.ones(48)
        self.cache = {}

    def __len__(self):
        return LENGTH

    def __getitem__(self, i):
        if i not in self.cache:
            self.cache[i] = X[i] * self.epoch * table[i]
        return i, self.cache[i] * self.weights[i] * scores[i], Y[i]

    def add(self, more):
        self.keep.extend(more)

    def update(self, index, new):
        self.weights[index] = new

pool = Pool()
loader = DataLoader(pool, batch_size=12)
"""
#: What the data set's length is, what happens in each batch and each epoch, and who refuses it.
CHANGES = {
    "hardest are kept": ("len(self.keep)", "", "pool.keep = pool.keep[:24]", True),
    "kept through the loader": ("len(self.keep)", "", "loader.dataset.keep = [1] * 24", True),
    "list grows": ("len(self.keep)", "", "pool.keep.append(1)", True),
    "list grows in a method": ("len(self.keep)", "", "pool.add([1, 2])", True),
    "level rises": ("12 * self.level", "", "pool.level += 1", True),
    "weights by sample": ("48", "pool.weights[index] = losses.detach()", "", True),
    "weights in a method": ("48", "pool.update(index, losses.detach())", "", True),
    "weights by what was kept": (
        "48",
        "history[index] = losses.detach()",
        "pool.weights[history > history.median()] = 2.0",
        True,
    ),
    "a table bound anew": (
        "48", "history[index] = losses.detach()", "table = (history > 1).double()", True,
    ),
    "a table bound anew by an operator": (
        "48", "history[index] = losses.detach()", "table = 1 + history", True,
    ),
    "a table bound by an operator from elsewhere": (
        "48", "history[index] = losses.detach()", "table = 1 + X[:, 0] * epoch", False,
    ),
    "weights by a table that is fixed": ("48", "", "pool.weights[history > 1] = 2.0", False),
    "a table bound by epoch": (
        "48", "history[index] = losses.detach()", "table = torch.ones(48) / (epoch + 1)", False,
    ),
    "list beside": ("48", "scores[index[0].item()] = losses[0].item()", "", True),
    "epoch is told": ("len(self.keep)", "", "pool.epoch = epoch", False),
    "sorted in place": ("len(self.keep)", "", "pool.keep.sort()", False),
    "weights by epoch": ("48", "", "pool.weights.fill_(1 / (epoch + 1))", False),
}  # fmt: skip
SAMPLERS = {
    "weights": "sampler.weights[index] = losses.detach()",
    "weights set anew": "sampler.weights = losses.detach()",
}
ITEMS = {
    "reads on": ("self.file = open('rows')", "return i, self.file.readline(), 1", True),
    "iterator": ("self.it = itertools.cycle(X)", "return i, next(self.it), 1", True),
    "list is used up": ("self.left = list(range(48))", "return i, X[self.left.pop()], 1", True),
    "counts": ("self.n = 0", "self.n += 1\n        return i, X[self.n], 1", True),
    "own generator": (
        "self.rng = np.random.RandomState(1)", "return i, X[self.rng.randint(48)], 1", True,
    ),
    "generator beside": ("pass", "return i, X[i] * rng.random(), 1", True),
    "looks for its place": (
        "self.file = open('rows')",
        "self.file.seek(8 * i)\n        return i, self.file.readline(), 1",
        False,
    ),
    "generator by index": (
        "pass", "rng = np.random.RandomState(i)\n        return i, X[i] * rng.rand(), 1", False,
    ),
    "noise": ("pass", "return i, X[i] * random.random(), 1", False),
    "iterator of its own": ("pass", "return i, next(iter([X[i]])), 1", False),
    "opens late": (
        "self.file = None",
        "if self.file is None:\n            self.file = open('rows')\n        return i, X[i], 1",
        False,
    ),
}  # fmt: skip
COLLATES = {
    "comprehension": ("batch = [b for b in batch if b is not None]", True),
    "filter": ("batch = list(filter(None, batch))", True),
    "some are added": (
        "new = []\n    for b in batch:\n        if b[0] > 1:\n            new.append(b)\n"
        "    batch = new",
        True,
    ),
    "some are passed over": (
        "new = []\n    for b in batch:\n        if b[0] > 1:\n            continue\n"
        "        new.append(b)\n    batch = new",
        True,
    ),
    "all are kept": ("batch = [b if b[0] > 1 else batch[0] for b in batch]", False),
    "one way or the other": (
        "new = []\n    for b in batch:\n        if b[0] > 1:\n            new.append(b)\n"
        "        else:\n            new.append(batch[0])\n    batch = new",
        False,
    ),
    "rows that are padded": (
        "out = torch.zeros(len(batch), 9)\n    for row, b in zip(out, batch):\n"
        "        row[: len(b[1])] = b[1]",
        False,
    ),
    "names of columns": ("names = [name for name in batch[0] if name != 'id']", False),
}
STREAMS = {
    "random order": "order = list(range(48))\n        random.shuffle(order)\n"
    "        yield from order",
    "drawn by a function": "yield from drawn()",
    "drawn by what it is given": "yield from self.fetch()",
}
KINDS = {
    "tar files": ("wds.WebDataset('a.tar').shuffle(9).decode()", "PT210"),
    "streamed": ("load_dataset('a', streaming=True)['train'].map(len)", "PT210"),
    "class of a stream": ("Tar()", "PT210"),
    "unknown": ("streamlib.open('a')", "PT214"),
    "columns": ("load_dataset('a')['train'].map(len)", ""),
    "list": ("[(i, x, y) for i, (x, y) in enumerate(zip(X, Y))]", ""),
}


def result(middle: str, batch: str = "pass", epoch: str = "pass") -> Result:
    """What becomes of a script."""
    loop = LOOP.replace("BATCH", batch or "pass").replace("EPOCH", epoch or "pass")
    return convert(HEAD + middle + loop, path="train.py")


def codes(found: Result) -> set[str]:
    """The codes of warnings and errors."""
    return {each.code for each in found.findings if each.level is not Level.NOTE}


@pytest.mark.parametrize("name", CHANGES)
def test_data_that_changes_while_its_loader_lives(name: str) -> None:
    length, batch, epoch, refused = CHANGES[name]
    found = result(POOL.replace("LENGTH", length), batch, epoch)
    assert ("PT218" in codes(found)) is refused, found.findings
    assert (found.outcome is Outcome.REFUSED) is refused


def test_other_sets_of_the_class_are_filled_later() -> None:
    middle = POOL.replace("LENGTH", "len(self.keep)") + "others = Pool()\nothers.add([1, 2])\n"
    assert "PT218" not in codes(result(middle))


def test_loader_made_anew_counts_anew() -> None:
    script = HEAD + POOL.replace("LENGTH", "len(self.keep)") + LOOP
    script = script.replace("loader = DataLoader(pool, batch_size=12)\n", "")
    script = script.replace(
        "range(3):\n", "range(3):\n    loader = DataLoader(pool, batch_size=12)\n"
    )
    script = script.replace("BATCH", "pass").replace("EPOCH", "pool.keep = pool.keep[:24]")
    assert "PT218" not in codes(convert(script, path="train.py"))


@pytest.mark.parametrize("name", SAMPLERS)
def test_sampler_that_batches_write_to(name: str) -> None:
    middle = """
data = TensorDataset(torch.arange(48), X, Y)
sampler = WeightedRandomSampler(torch.ones(48), 48)
loader = DataLoader(data, batch_size=12, sampler=sampler)
"""
    assert "PT218" in codes(result(middle, SAMPLERS[name]))
    assert "PT218" not in codes(result(middle))


@pytest.mark.parametrize("name", ITEMS)
def test_samples_that_do_not_go_by_their_index(name: str) -> None:
    made, item, refused = ITEMS[name]
    middle = f"""
class Data(Dataset):
    def __init__(self):
        {made}

    def __len__(self):
        return 48

    def __getitem__(self, i):
        {item}

loader = DataLoader(Data(), batch_size=12)
"""
    assert ("PT229" in codes(result(middle))) is refused


@pytest.mark.parametrize(
    ("seed", "refused"),
    [
        ("worker", True),
        ("42 + worker", True),
        ("torch.initial_seed() % 2**32", False),
        ("np.random.get_state()[1][0] + worker", False),
    ],
)
def test_workers_that_seed_by_their_number(seed: str, refused: bool) -> None:
    middle = f"""
def init(worker):
    np.random.seed({seed})

data = TensorDataset(torch.arange(48), X, Y)
loader = DataLoader(data, 12, worker_init_fn=init)
"""
    assert ("PT229" in codes(result(middle))) is refused
    middle = middle.replace("=init", f"=lambda worker: random.seed({seed})")
    assert ("PT229" in codes(result(middle))) is refused


@pytest.mark.parametrize("name", COLLATES)
def test_batches_that_samples_are_left_out_of(name: str) -> None:
    line, refused = COLLATES[name]
    middle = f"""
def collate(batch):
    {line}
    return default_collate(batch)

data = TensorDataset(torch.arange(48), X, Y)
loader = DataLoader(data, batch_size=12, collate_fn=collate)
"""
    assert ("PT220" in codes(result(middle))) is refused


@pytest.mark.parametrize("part", ["x", "y"])
def test_rows_of_samples_joined_for_the_loss(part: str) -> None:
    made = {
        name: f"torch.{'cat' if name == part else 'stack'}([b[{i}] for b in batch])"
        for i, name in ((1, "x"), (2, "y"))
    }
    middle = f"""
def collate(batch):
    return torch.tensor([b[0] for b in batch]), {made["x"]}, {made["y"]}

loader = DataLoader(TensorDataset(X, X, Y), batch_size=12, collate_fn=collate)
"""
    assert ("PT220" in codes(result(middle))) is (part == "y")


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_draw_random_numbers_somewhere(name: str) -> None:
    middle = f"""
def drawn():
    return np.random.permutation(48).tolist()

class Corpus:
    def shuffled(self):
        return iter(random.sample(range(48), 48))

class Stream(IterableDataset):
    def __init__(self, corpus):
        self.fetch = corpus.shuffled

    def __iter__(self):
        {STREAMS[name]}

loader = DataLoader(Stream(Corpus()), batch_size=12)
"""
    assert "PT210" in codes(result(middle))
    assert "PT210" not in codes(result(middle.replace(STREAMS[name], "yield from range(48)")))


@pytest.mark.parametrize("name", KINDS)
def test_data_of_libraries_is_indexed_or_not(name: str) -> None:
    made, code = KINDS[name]
    middle = f"""
class Tar(wds.WebDataset):
    pass

loader = DataLoader({made}, batch_size=12)
"""
    assert codes(result(middle)) & {"PT210", "PT214"} == ({code} if code else set())


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("rows.append(rows[epoch])", True),
        ("rows += rows[:1]", True),
        ("rows.pop()", True),
        ("del rows[0]", True),
        ("del rows[:2], scores[0]", True),
        ("del scores[0]", False),
        ("rows.reverse()", False),
        ("print(len(rows))", False),
        ("copy = list(rows); copy.pop()", False),
    ],
)
def test_a_list_that_is_drawn_from_grows_or_shrinks(change: str, refused: bool) -> None:
    rows = "rows = [(i, X[i], Y[i]) for i in range(48)]\nloader = DataLoader(rows, batch_size=12)\n"
    loop = LOOP.replace("BATCH", "").replace("    EPOCH", f"    {change}")
    found = convert(HEAD + rows + loop)
    assert [one.code for one in found.findings if one.level is Level.ERROR] == (
        ["PT218"] if refused else []
    )


def test_options_that_are_set_behind_the_loader_change_no_data() -> None:
    """The data set is made of what an option names, not of the options."""
    text = """\
import argparse
import os
import torch
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--folder")
parser.add_argument("--width", type=int)
args = parser.parse_args()
rows = torch.load(os.path.join(args.folder, "rows.pt"))
loader = DataLoader(TensorDataset(torch.tensor([row[0] for row in rows])), batch_size=8)
args.width = 4
model = torch.nn.Linear(args.width, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
"""
    assert "PT218" not in [found.code for found in convert(text).findings]
