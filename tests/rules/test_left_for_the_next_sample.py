"""What one sample or batch leaves for the next, and what caches keep."""

from __future__ import annotations

import pytest

from transpile import Options, convert

HEAD = """\
import functools
import itertools
import random
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
X, Y = torch.randn(48, 6), torch.randn(48, 1)
WORDS = [["a", "b"], ["c", "a"]] * 24


class Missing(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


class Vocab:
    def __init__(self):
        self.stoi = {}

    def add(self, word):
        if word not in self.stoi:
            self.stoi[word] = len(self.stoi)
        return self.stoi[word]

    def __call__(self, words):
        return [self.add(word) for word in words]


def number(words, known):
    return [known.setdefault(word, len(known)) for word in words][0]


class Average:
    def __init__(self):
        self.mean = 0

    def __call__(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x
        return x - self.mean

"""
DATA = """
class Data(Dataset):
    count = 0

    def __init__(self):
        self.table, self.seen, self.words, self.last, self.n = {}, set(), [], None, 0
        INIT

    def __len__(self):
        return 48

    def __getitem__(self, i):
        ITEM

loader = DataLoader(Data(), batch_size=12)
"""
COLLATE = """
stoi = defaultdict(lambda: len(stoi))
last = 0

def collate(samples, known={}):
    x = torch.stack([one[0] for one in samples])
    y = torch.stack([one[1] for one in samples])
    LINES
    return x, y

data = [(X[i], Y[i], WORDS[i]) for i in range(48)]
loader = DataLoader(data, batch_size=12, collate_fn=collate)
"""
LOOP = """
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for batch in loader:
    loss = (model(batch[0]) - batch[1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
#: What a data set makes beforehand, and how it makes a sample.
CARRIED = {
    "numbers by order": (
        "",
        "n = [self.table.setdefault(w, len(self.table)) for w in WORDS[i]]\nreturn X[i] * n[0], 1",
    ),
    "the sample before": (
        "self.last = torch.zeros(6)",
        "before, self.last = self.last, X[i]\nreturn X[i] - before, 1",
    ),
    "a factory that counts": (
        "self.table = defaultdict(itertools.count().__next__)",
        "return X[i] * self.table[WORDS[i][0]], 1",
    ),
    "what is missing": ("self.table = Missing()", "return X[i] * self.table[WORDS[i][0]], 1"),
    "an object": ("self.vocab = Vocab()", "return X[i] * self.vocab(WORDS[i])[0], 1"),
    "a place in a list": (
        "",
        "w = WORDS[i][0]\nif w not in self.words:\n    self.words.append(w)\n"
        "return X[i] * self.words.index(w), 1",
    ),
    "what was seen": (
        "", "k = 2 if i in self.seen else 1\nself.seen.add(i)\nreturn X[i] * k, 1",
    ),
    "flags by index": (
        "", "if i in self.table:\n    return X[i], 0\nself.table[i] = True\nreturn X[i], 1",
    ),
    "a counter": (
        "self.counts = Counter()",
        "self.counts.update(WORDS[i])\nreturn X[i] / self.counts['a'], 1",
    ),
    "a mean in place": (
        "self.mean = torch.zeros(6)",
        "self.mean.mul_(0.9).add_(X[i])\nreturn X[i] - self.mean, 1",
    ),
    "the last ones": (
        "self.words = deque(maxlen=3)",
        "self.words.append(X[i])\nreturn sum(self.words), 1",
    ),
    "the first": (
        "", "if self.last is None:\n    self.last = X[i]\nreturn X[i] - self.last, 1",
    ),
    "whether it is the first": (
        "",
        "if not self.n:\n    self.n = True\n    return X[i] * 0, 1\nreturn X[i], 1",
    ),
    "a flag of one sample": (
        "", "if i == 7:\n    self.n = 2.0\nreturn X[i] * self.n, 1",
    ),
    "the first of a kind": (
        "",
        "k = i % 5\nif k not in self.table:\n    self.table[k] = X[i]\n"
        "return X[i] - self.table[k], 1",
    ),
    "the last of a kind": (
        "",
        "u = i % 5\nbefore = self.table.get(u, X[0])\nself.table[u] = X[i]\n"
        "return X[i] - before, 1",
    ),
    "turns of a kind": (
        "",
        "k = i % 3\nif k != self.last:\n    self.n += 1\n    self.last = k\n"
        "return X[i] * self.n, 1",
    ),
    "of a class": ("", "type(self).count += 1\nreturn X[i] * self.count, 1"),
    "another name": (
        "", "d = self.table\nn = d.setdefault(WORDS[i][0], len(d))\nreturn X[i] * n, 1",
    ),
    "a function's parameter": ("", "return X[i] * number(WORDS[i], self.table), 1"),
    "by setattr": ("", "x = X[i] - self.n\nsetattr(self, 'n', X[i])\nreturn x, 1"),
    "a part of an array": ("self.x = X.clone()", "x = self.x[i]\nx += 1\nreturn x, 1"),
    "an entry of a row": (
        "self.rows = [{'x': x, 'n': 1.0} for x in X]",
        "row = self.rows[i]\nrow['n'] = row['n'] * 0.9\nreturn row['x'] * row['n'], 1",
    ),
    "random behind a cache": (
        "self.rng = random.Random(1); self.load = functools.lru_cache(maxsize=None)(self._load)",
        "return self.load(i), 1\n\ndef _load(self, i):\n    return X[i] * self.rng.random()",
    ),
}  # fmt: skip
KEPT = {
    "a cache": (
        "", "if i not in self.table:\n    self.table[i] = X[i] * 2\nreturn self.table[i], 1",
    ),
    "one that is asked": (
        "",
        "x = self.table.get(i)\nif x is None:\n    x = X[i]\n    self.table[i] = x\nreturn x, 1",
    ),
    "one that is tried": (
        "",
        "try:\n    return self.table[i]\nexcept KeyError:\n    pair = X[i], 1\n"
        "    self.table[i] = pair\n    return pair",
    ),
    "a bounded one": (
        "",
        "if i in self.table:\n    return self.table[i]\nif len(self.table) < 9:\n"
        "    self.table[i] = X[i], 1\nreturn X[i], 1",
    ),
    "one that forgets": (
        "self.table = OrderedDict()",
        "if i in self.table:\n    self.table.move_to_end(i)\n    return self.table[i]\n"
        "self.table[i] = X[i], 1\nif len(self.table) > 9:\n    self.table.popitem(last=False)\n"
        "return X[i], 1",
    ),
    "one of methods": (
        "",
        "return self.load(str(i)), 1\n\ndef load(self, path):\n    if path not in self.table:\n"
        "        self.table[path] = torch.load(path)\n    return self.table[path]",
    ),
    "a late file": (
        "", "if self.last is None:\n    self.last = np.load('x.npy')\nreturn self.last[i], 1",
    ),
    "a late file and a flag": (
        "",
        "if not self.n:\n    self.last = np.load('x.npy')\n    self.n = True\n"
        "return self.last[i], 1",
    ),
    "the file of the sample": (
        "self.rows = None",
        "n, k = divmod(i, 10)\nif n != self.last:\n    self.rows = np.load(f'{n}.npy')\n"
        "    self.last = n\nreturn self.rows[k], 1",
    ),
    "a name of the sample": (
        "",
        "self.last = X[i]\nreturn self.twice(), 1\n\ndef twice(self):\n    return self.last * 2",
    ),
    "a list that is emptied": (
        "", "self.words.clear()\nself.words.extend(WORDS[i])\nreturn X[i] * len(self.words), 1",
    ),
    "a dict of the sample": ("", "return X[i] * number(WORDS[i], {}), 1"),
    "an object of the sample": ("", "vocab = Vocab()\nreturn X[i] * vocab(WORDS[i])[0], 1"),
    "numbers from before": (
        "[self.table.setdefault(w, len(self.table)) for ws in WORDS for w in ws]",
        "return X[i] * self.table[WORDS[i][0]], 1",
    ),
    "late parts of rows": (
        "self.rows = [{'path': str(i)} for i in range(48)]",
        "row = self.rows[i]\nrow['x'] = torch.load(row['path'])\nreturn row['x'], 1",
    ),
    "a copy": ("self.x = X.clone()", "x = self.x[i].clone()\nx += 1\nreturn x, 1"),
    "a cached function": (
        "self.load = functools.lru_cache(maxsize=None)(self._load)",
        "return self.load(i), 1\n\ndef _load(self, i):\n    return X[i] * 2",
    ),
}  # fmt: skip
BATCHES = {
    "x = x * torch.tensor([[stoi[one[2][0]]] for one in samples])": True,
    "x = x * torch.tensor([[number(one[2], known)] for one in samples])": True,
    "x = x * torch.tensor([[number(one[2], {})] for one in samples])": False,
    "global last; x, last = x - last, x": True,
}


def refused(middle: str) -> bool:
    """Whether a data set is said to go on from sample to sample."""
    found = convert(HEAD + middle + LOOP, Options(shard="data")).findings
    return "PT229" in [one.code for one in found]


def data_set(init: str, item: str) -> str:
    """The class and the loader."""
    inner, _, methods = item.partition("\n\n")
    body = inner.replace("\n", "\n        ") + "\n\n    " + methods.replace("\n", "\n    ")
    return DATA.replace("INIT", init or "pass").replace("ITEM", body)


@pytest.mark.parametrize("name", CARRIED)
def test_what_is_left_for_the_next_sample_is_of_a_share(name: str) -> None:
    """The sample that a process was asked for before is another one in each."""
    assert refused(data_set(*CARRIED[name]))


@pytest.mark.parametrize("name", KEPT)
def test_what_is_the_same_for_the_same_key_may_be_kept(name: str) -> None:
    """A cache, a file that is opened late, and what one sample alone is made with."""
    assert not refused(data_set(*KEPT[name]))


@pytest.mark.parametrize("lines", BATCHES)
def test_what_is_left_for_the_next_batch_is_of_a_share(lines: str) -> None:
    """Words that are numbered as they come, and the batch before."""
    assert refused(COLLATE.replace("LINES", lines)) is BATCHES[lines]


def test_objects_that_transform_samples_of_libraries_are_looked_at() -> None:
    """What a data set of a library is given is called with each sample."""
    middle = """
from torchvision import transforms
from torchvision.datasets import FakeData
steps = transforms.Compose([transforms.ToTensor(), Average()])
loader = DataLoader(FakeData(48, transform=steps), batch_size=12)
"""
    assert refused(middle)
    assert not refused(middle.replace(", Average()", ""))
