"""Lists and meters wait until they are read where all processes come there, and nowhere else."""

from __future__ import annotations

import pytest
from single_rule import made

from transpile.rules.pytorch.losses import reduce_reported_numbers

SCRIPT = """\
import time
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

class Meter{bases}:
    def __init__(self):
        self.reset()

    def reset(self):
        {zero}

    def update(self, value, n=1):
        {update}

class Progress:
    def __init__(self, meters):
        self.meters = meters

    def show(self):
        print([meter.mean for meter in self.meters])

loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randint(0, 3, (48,))), batch_size=12)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def run():
    losses, meter, shown = [], Meter(), 0
    {before}
    for epoch in range(2):
        {begin}
        for i, (x, y) in enumerate(loader):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {body}
        {after}
run()
"""
UPDATE = """\
self.last = value
self.sum += value * n
self.count += n
self.mean = self.sum / self.count"""


def new_lines(body: str, after: str = "pass", **parts: str) -> list[str]:
    """The lines that the rule writes."""
    zero = "self.last = self.sum = self.count = self.mean = 0"
    given = {"zero": zero, "before": "pass", "begin": "losses = []", "bases": ""}
    given |= {"update": UPDATE, **parts}
    given |= {"body": body, "after": after}
    depths = {"update": 8, "before": 4, "begin": 8, "body": 12, "after": 8}
    texts = {
        name: text.replace("\n", "\n" + " " * depths.get(name, 0)) for name, text in given.items()
    }
    text = made(reduce_reported_numbers, SCRIPT.format(**texts)).after.partition("def run")[2]
    return [
        line.strip()
        for line in text.splitlines()
        if "reduce_" in line or "average_" in line or "_numbers" in line
    ]


APPENDED = "losses.append(loss.item())\n"
GIVEN = "meter.update(loss.item(), x.size(0))\n"
LIST = "losses[:] = average_numbers(*losses)"
METER = 'average_meters([meter], "last", "mean", "sum")'


@pytest.mark.parametrize(
    ("body", "after", "parts", "lines"),
    [
        (APPENDED, "print(np.mean(losses))", {}, [LIST]),
        (APPENDED, "print(sum(losses) / len(losses))\nprint(max(losses))", {}, [LIST]),
        (APPENDED, "print(losses[-1])", {"begin": "pass"}, [LIST]),
        (APPENDED + "if i % 2 == 1:\n    print(losses[-1])", "pass", {}, [LIST]),
        ("losses.append(loss.item() * 2 / len(loader))", "print(losses)", {}, [LIST]),
        ("if i % 2 == 1:\n    " + APPENDED, "print(losses)", {}, [LIST]),
        (GIVEN, "print(meter.mean)", {}, [METER]),
        (GIVEN + "if i % 2 == 1:\n    print(f'{meter.last} {meter.mean}')", "pass", {}, [METER]),
        (
            GIVEN + "if i % 2 == 1:\n    progress.show()",
            "pass",
            {"before": "progress = Progress([meter])"},
            [METER],
        ),
        (
            GIVEN,
            "print(meter.mean)",
            {"update": "self.mean = 0.9 * self.mean + 0.1 * value", "bases": "(object)"},
            ['average_meters([meter], "mean")'],
        ),
        (
            GIVEN,
            "print(meter.sum / meter.count)",
            {
                "zero": "self.sum, self.count = 0.0, 0",
                "update": "self.sum, self.count = self.sum + value * n, self.count + n",
            },
            ['average_meters([meter], "sum")'],
        ),
    ],
)
def test_what_is_read_later_is_averaged_there(
    body: str, after: str, parts: dict[str, str], lines: list[str]
) -> None:
    assert new_lines(body, after, **parts) == lines


@pytest.mark.parametrize(
    ("body", "after", "parts"),
    [
        (APPENDED + "print(losses[-1])", "pass", {}),
        (APPENDED + "if time.time() % 9 < 1:\n    print(losses[-1])", "pass", {}),
        ("if time.time() % 9 < 1:\n    continue\n" + APPENDED, "print(losses)", {}),
        ("if time.time() % 9 < 1:\n    losses.append(loss.item())", "print(losses)", {}),
        ("losses.append(loss.item() ** 2)", "print(losses)", {}),
        (APPENDED, "print(losses)", {"before": "shown = lambda: losses"}),
        (APPENDED + "print(shown)", "print(losses)", {"before": "shown = losses", "begin": "pass"}),
        (APPENDED + "losses[0] = 1.0", "print(losses)", {}),
        (APPENDED + "losses.append('x')", "print(losses)", {}),
        (GIVEN + "print(meter.mean)", "pass", {}),
        (GIVEN, "print(meter.mean)", {"update": "self.mean = max(self.mean, value)"}),
        (GIVEN, "print(meter.mean)", {"update": "self.mean = value * value"}),
        (GIVEN, "print(meter.mean)", {"update": "if value > 1:\n    self.mean = value"}),
        (GIVEN, "print(meter.late)", {"update": "self.late = value"}),
        (GIVEN, "print(meter.mean)", {"bases": "(Exception)"}),
        (GIVEN, "print(meter.sum)", {"update": "self.sum, self.count = value * value, n"}),
        (GIVEN, "print(meter.sum)", {"zero": "self.sum, self.count = list('01')"}),
        ("meter.update(loss.item(), time.time())", "print(meter.mean)", {}),
        (GIVEN + "progress.show()", "pass", {"before": "progress = Progress([meter])"}),
    ],
)
def test_what_may_differ_or_is_read_on_the_way_is_reduced_on_the_way(
    body: str, after: str, parts: dict[str, str]
) -> None:
    found = new_lines(body, after, **parts)
    assert not any("average_" in line for line in found), found


def test_what_a_print_reduces_beside_it_is_reduced_once() -> None:
    assert new_lines(APPENDED + "print(loss.item())", "print(losses)") == [
        "loss_mean = reduce_mean(loss)"
    ]
