"""Numbers of training batches that go through what objects inherit, or through special methods."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
from argparse import Namespace
from collections import OrderedDict, UserDict, defaultdict, deque
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
{definition}
loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
meter = Meter()
for epoch in range(3):
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {kept}
    {shown}
"""
OF_WORDS = """\
class Meter(dict):
    def add(self, **given):
        for word, value in given.items():
            total, count = self.get(word, (0.0, 0))
            self[word] = (total + value.item(), count + 1)

    def __str__(self):
        return " ".join(f"{word} {total / count}" for word, (total, count) in self.items())
"""
ITERATED = """\
class Meter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)
"""
SPECIAL = """\
class Meter:
    def __init__(self):
        self.values = {}
        self.total = 0.0

    def __setitem__(self, word, value):
        self.values.setdefault(word, []).append(value)

    def __getitem__(self, word):
        return sum(self.values[word])

    def __iadd__(self, value):
        self.total += value
        return self

    def __call__(self):
        return self.total

    def __float__(self):
        return self.total

    def __bool__(self):
        return self.total < 0.9
"""
AT_THE_END = """\
class Meter:
    def __init__(self):
        self.values = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        print(sum(self.values))
"""
DEFAULT = """\
class Meter(defaultdict):
    def __init__(self):
        super().__init__({made})
"""
ADDING = """\
class Meter(dict):
    def __setitem__(self, word, value):
        super().__setitem__(word, self.get(word, 0.0) + value)
"""
FIELDS = """\
@dataclass
class Meter:
    total: float = 0.0
"""


def derived(base: str) -> str:
    """A class derived from a container, with nothing of its own."""
    return f"class Meter({base}):\n    pass\n"


@pytest.mark.parametrize(
    ("definition", "kept", "shown"),
    [
        (OF_WORDS, "meter.add(loss=loss)", 'print(f"{meter}")'),
        (derived("dict"), "meter['l'] = meter.get('l', 0.0) + loss.item()", 'print(meter["l"])'),
        (derived("OrderedDict"), "meter['l'] = loss.item()", "print(dict(meter))"),
        (derived("UserDict"), "meter.update(l=loss.item())", 'print(meter["l"])'),
        (derived("list"), "meter.append(loss.item())", "print(sum(meter) / len(meter))"),
        (derived("deque"), "meter.appendleft(loss.item())", "print(max(meter))"),
        (DEFAULT.format(made="list"), "meter['l'].append(loss.item())", 'print(meter["l"])'),
        (DEFAULT.format(made="float"), "meter['l'] += loss.item()", "print(dict(meter))"),
        (ADDING, "meter['l'] = loss.item()", "print(meter)"),
        (ITERATED, "meter.add(loss.item())", "print(sum(meter) / len(meter))"),
        (SPECIAL, "meter['l'] = loss.item()", 'print(meter["l"])'),
        (SPECIAL, "meter += loss.item()", "print(meter())"),
        (SPECIAL, "meter += loss.item()", "print(float(meter))"),
        (SPECIAL, "meter.total = loss.item()", "if meter:\n        break"),
        (AT_THE_END, "with meter:\n            meter.values.append(loss.item())", "pass"),
        (FIELDS, "meter.total += loss.item()", "print(asdict(meter))"),
        (FIELDS, "meter.total += loss.item()", "print(vars(meter), meter.__dict__)"),
        ("Meter = Namespace\n", "meter.total = loss.item()", "print(meter)"),
    ],
)
def test_what_objects_hold_of_a_batch_is_of_the_whole_batch(
    definition: str, kept: str, shown: str
) -> None:
    source = SCRIPT.format(definition=definition, kept=kept, shown=shown)
    result = convert(source, Options(shard="data"), path="train.py")
    assert result.outcome is Outcome.CONVERTED
    told = any(finding.code == "PT603" for finding in result.findings)
    reduced = any(helper in result.text for helper in ("reduce_mean(", "average_numbers("))
    assert told or reduced or "reduce_number(" in result.text


@pytest.mark.parametrize(
    "kept", ["meter.update(l=loss.item(), n=1)", "meter.update({'l': loss.item(), 'n': 1})"]
)
def test_numbers_that_a_counter_adds_up_are_reduced(kept: str) -> None:
    definition = "from collections import Counter as Meter"
    text = SCRIPT.format(definition=definition, kept=kept, shown='print(meter["l"] / meter["n"])')
    result = convert(text.encode(), Options(shard="data"))
    assert "reduce_mean(loss).item()" in result.text


LOGGER = """\
class Value:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value):
        self.total += value
        self.count += 1

    @property
    def average(self):
        return self.total / self.count


class Meter:
    def __init__(self):
        {made}

    def update(self, **given):
        for word, value in given.items():
            self.values[word].update(value.item())

    def __getattr__(self, word):
        return self.values[word]"""


@pytest.mark.parametrize(
    "made",
    [
        "self.values = defaultdict(Value)",
        "self.values = defaultdict(lambda: Value())",
        "self.__dict__['values'] = defaultdict(Value)",
    ],
)
@pytest.mark.parametrize("shown", ["meter.loss.average", "meter.values['loss'].average"])
def test_objects_that_a_dict_makes_are_followed(made: str, shown: str) -> None:
    text = SCRIPT.format(
        definition=LOGGER.format(made=made),
        kept="meter.update(loss=loss)",
        shown=f"print({shown})",
    )
    result = convert(text.encode(), Options(shard="data"))
    assert result.outcome is Outcome.CONVERTED
    assert "reduce_mean(" in result.text.partition("class Value")[2]
