"""Rows that a step picks out of lists of Python by the positions of its batch."""

from __future__ import annotations

from typing import Literal

import pytest

from transpile import Options, convert

SCRIPT = """\
import random

import elsewhere
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

rows = [[random.random() for _ in range(4)] for _ in range(40)]
tokens = [[1] * random.randint(1, 9) for _ in range(40)]
labels = [random.randint(0, 2) for _ in range(40)]
samples = [(torch.randn(4), random.randint(0, 2)) for _ in range(40)]
table = {{i: random.random() for i in range(40)}}


def label_of(position):
    return labels[position]


class Store:
    def __getitem__(self, position):
        return labels[position]

    def get(self, position):
        return self[position]


store = Store()


model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    order = list(range(40))
    random.shuffle(order)
    for start in range(0, 40, 8):
        picked = order[start : start + 8]
{batch}
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
BATCH = """\
        x = torch.tensor([rows[i] for i in picked])
        y = torch.tensor([labels[i] for i in picked])
"""
LOSS = "nn.functional.cross_entropy(model(x), y)"


def codes(batch: str, loss: str, shard: Literal["auto", "data"] = "data") -> set[str]:
    """The codes of what is found in a script."""
    found = convert(SCRIPT.format(batch=batch, loss=loss).encode(), Options(shard=shard))
    return {finding.code for finding in found.findings}


PLAIN = (
    BATCH,
    """\
        x = torch.stack([samples[i][0] for i in picked])
        y = torch.tensor([samples[i][1] for i in picked])
""",
    """\
        pairs = [samples[i] for i in picked]
        x = torch.stack([a for a, _ in pairs])
        y = torch.tensor([b for _, b in pairs])
""",
    """\
        xs, ys = zip(*[samples[i] for i in picked])
        x, y = torch.stack(xs), torch.tensor(ys)
""",
)


@pytest.mark.parametrize("batch", PLAIN)
def test_rows_picked_by_positions_are_samples(batch: str) -> None:
    assert codes(batch, LOSS) == set()


NUMBERS = (
    "max(labels[i] for i in picked)",
    "max([table[i] for i in picked])",
    "max(table.get(i) for i in picked)",
    "max(map(labels.__getitem__, picked))",
    "sum(labels[i] for i in picked) ** 2",
    "max(label_of(i) for i in picked)",
    "max(map(label_of, picked))",
    "max(store[i] for i in picked)",
    "max([store.get(i) for i in picked])",
)


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_of_picked_rows_are_of_a_share(number: str) -> None:
    assert "PT403" in codes(BATCH, f"{LOSS} * ({number})")
    assert "PT403" not in codes(BATCH, f"{LOSS} * ({number.replace('picked', 'range(40)')})")


COLLECTED = (
    "        chosen = []\n        for i in picked:\n            chosen.append(labels[i])\n",
    "        chosen = []\n        for i in picked:\n            one = labels[i]\n"
    "            chosen += [one + 1]\n",
    "        chosen = [labels[i] for i in picked]\n        chosen = [one + 1 for one in chosen]\n",
    "        chosen = list(reversed([labels[i] for i in picked]))\n",
    "        chosen = [labels[i] for i in picked][1:]\n",
    "        chosen = [0] + [labels[i] for i in picked]\n",
)


@pytest.mark.parametrize("collected", COLLECTED)
def test_lists_of_picked_rows_stay_those_of_a_share(collected: str) -> None:
    assert "PT403" in codes(BATCH + collected, f"{LOSS} * max(chosen)")
    whole = collected.replace("picked", "range(40)")
    assert "PT403" not in codes(BATCH + whole, f"{LOSS} * max(chosen)")


PADDED = (
    "        chosen = [tokens[i] for i in picked]\n        longest = max(len(t) for t in chosen)\n",
    "        chosen = [tokens[i] for i in picked]\n        longest = max(map(len, chosen))\n",
    "        chosen = [tokens[i] for i in picked]\n        longest = len(max(chosen, key=len))\n",
    "        chosen = [tokens[i] for i in picked]\n"
    "        longest = torch.tensor([len(row) for row in chosen]).max()\n",
)
PADDING = """\
        z = torch.tensor([row + [0] * (longest - len(row)) for row in chosen]).double()
"""


@pytest.mark.parametrize("padded", PADDED)
def test_padding_to_the_longest_picked_row_is_remarked_on(padded: str) -> None:
    loss = f"{LOSS} + model(z[:, :1].expand(-1, 4)).mean()"
    assert "PT217" in codes(BATCH + padded + PADDING, loss)
    whole = padded.replace("for i in picked", "for i in range(40)")
    assert "PT217" not in codes(BATCH + whole, f"{LOSS} * longest")


def test_padding_by_a_function_of_the_framework_is_remarked_on() -> None:
    batch = BATCH + "        z = pad_sequence([samples[i][0] for i in picked])\n"
    assert "PT217" in codes(batch, f"{LOSS} + z.mean()")


SINGLE = (
    """\
        first, second = random.sample(range(40), 2)
        x = torch.tensor([rows[first], rows[second]])
        y = torch.tensor([labels[first], labels[second]])
""",
    """\
        x, y = [], []
        for _ in range(4):
            drawn = random.sample(range(40), 2)
            x.extend(rows[i] for i in drawn)
            y.extend(labels[i] for i in drawn)
        x, y = torch.tensor(x), torch.tensor(y)
""",
)


@pytest.mark.parametrize("batch", SINGLE)
def test_positions_drawn_one_by_one_are_no_batch(batch: str) -> None:
    assert "PT203" in codes(batch, LOSS)
    assert "DT015" in codes(batch, LOSS, "auto")


def test_positions_drawn_at_once_are_a_batch() -> None:
    batch = BATCH.replace("picked", "random.sample(range(40), 8)", 1).replace(
        "x = torch.tensor([rows[i] for i in random.sample(range(40), 8)])",
        "picked = random.sample(range(40), 8)\n        x = torch.tensor([rows[i] for i in picked])",
    )
    assert codes(batch, LOSS) == set()


SIZES = ("len(picked)", "len(x)")


def summed(size: str) -> str:
    """What becomes of a total that is weighted by a number of samples."""
    script = SCRIPT.format(batch=BATCH, loss=LOSS)
    script = script.replace("order = list", "total = 0.0; order = list")
    script += f"        total += loss.item() * {size}\n    print(total / 40)\n"
    result = convert(script.encode(), Options(shard="data"))
    assert not result.findings
    return result.text.replace(size, "SIZE")


@pytest.mark.parametrize("size", SIZES)
def test_how_many_rows_a_list_has_counts_as_the_size_of_a_tensor(size: str) -> None:
    assert summed(size) == summed("x.size(0)")


TOGETHER = {
    "looked up": (
        "        w = 0.0\n        for i in picked:\n            w += table.get(i, 0.0)\n"
    ),
    "by a function": ("        w = 0.0\n        for i in picked:\n            w += label_of(i)\n"),
    "put into lists one by one": (
        "        xs = []\n        for i in picked:\n            xs.append(samples[i][0])\n"
        "        w = torch.stack(xs).mean()\n"
    ),
    "summed up": "        w = 0.0\n        for i in picked:\n            w += table[i]\n",
    "largest": (
        "        w = 0\n        for i in picked:\n            if labels[i] > w:\n"
        "                w = labels[i]\n"
    ),
    "counted": (
        "        counts = {}\n        for i in picked:\n"
        "            counts[labels[i]] = counts.get(labels[i], 0) + 1\n"
        "        w = max(counts.values())\n"
    ),
    "counted through": (
        "        w = 0.0\n        for k, i in enumerate(picked):\n            w += table[i]\n"
    ),
    "beside another": (
        "        w = 0.0\n        for i, k in zip(picked, order):\n            w += table[i]\n"
    ),
    "for its effect": (
        "        kept = []\n        [kept.append(table[i]) for i in picked]\n"
        "        w = len(kept)\n"
    ),
    "laid into something of a library": (
        "        w = elsewhere.array([table[i] for i in picked])\n"
    ),
    "of its rows": "        w = sum(c for c in picked) / 40\n",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_that_come_together_in_python_are_no_shares(name: str) -> None:
    loss = f"{LOSS} * (1 + w)"
    assert "PT203" in codes(BATCH + TOGETHER[name], loss)
    assert codes(BATCH + TOGETHER[name], loss, "auto") == {"DT015"}


PLACES = (
    "torch.tensor(order[start : start + 8])",
    "torch.randint(0, 40, (8,))",
    "random.sample(range(40), 8)",
)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", ["summed up", "largest", "counted", "looked up", "by a function"])
def test_rows_that_are_taken_by_places_of_other_kinds_are_no_shares(name: str, places: str) -> None:
    together = TOGETHER[name].replace("[i]", "[int(i)]").replace("(i", "(int(i)")
    batch = BATCH.replace("[i]", "[int(i)]")
    script = SCRIPT.format(batch=batch + together, loss=f"{LOSS} * (1 + w)")
    script = script.replace("order[start : start + 8]", places)
    found = convert(script.encode(), Options(shard="data")).findings
    assert "PT203" in {finding.code for finding in found}
    plain = SCRIPT.format(batch=batch, loss=LOSS).replace("order[start : start + 8]", places)
    assert convert(plain.encode(), Options(shard="data")).findings == ()
