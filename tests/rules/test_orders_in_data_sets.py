"""Hashes and orders of sets that only the code of data sets comes to."""

from __future__ import annotations

import pytest

from transpile import Options, Result, convert

SCRIPT = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
texts = ["the cat sat", "a dog ran", "the bird flew", "fish swim far"] * 12
labels = [0, 1, 0, 1] * 12


def bucket(word, n=64):
    return BUCKET


class Texts(Dataset):
    def __init__(self, texts, labels):
        self.texts, self.labels, self.vocab = texts, labels, {}
        MAKE

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        words = self.texts[i].split()
        return torch.tensor(READ), self.labels[i]


loader = DataLoader(Texts(texts, labels), batch_size=12)
model = nn.EmbeddingBag(64, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "m.pt")
"""


def converted(make: str = "pass", read: str = "[0]", bucket: str = "len(word)") -> Result:
    text = SCRIPT.replace("MAKE", make).replace("READ", read).replace("BUCKET", bucket)
    return convert(text, Options(shard="data"))


def codes(result: Result) -> list[str]:
    return [one.code for one in result.findings if one.code in ("PT731", "PT734")]


@pytest.mark.parametrize(
    "read",
    [
        "[hash(w) % 64 for w in words]",
        "[h % 64 for h in map(hash, words)]",
        "[random.Random(hash(self.texts[i])).randrange(64)]",
    ],
)
def test_hashes_in_getitem_are_warned_of(read: str) -> None:
    assert codes(converted(read=read)) == ["PT734"]


def test_hashes_in_functions_of_getitem_are_warned_of() -> None:
    read = "[bucket(w) for w in words]"
    assert codes(converted(read=read, bucket="hash(word) % n")) == ["PT734"]
    assert codes(converted(read="[len(w) for w in words]", bucket="hash(word) % n")) == []


def test_sets_in_getitem_are_sorted() -> None:
    result = converted(read="[len(w) for w in list(set(words))[:2]]")
    assert "sorted(set(words))[:2]" in result.text


def test_elements_that_sets_give_first_are_warned_of() -> None:
    make = """\
left = set(w for t in texts for w in t.split())
        while left:
            self.vocab[left.pop()] = len(self.vocab)"""
    assert codes(converted(make)) == ["PT731"]
    assert codes(converted(make.replace("set(w for t in texts for w in t.split())", "[1]"))) == []


def test_what_remains_of_a_set_is_sorted_where_it_is_numbered() -> None:
    make = """\
rare = {w for t in texts for w in t.split()} - {"a", "the"}
        self.vocab = dict(zip(rare, range(64)))"""
    assert "dict(zip(sorted(rare), range(64)))" in converted(make).text
