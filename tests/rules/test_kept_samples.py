"""What training keeps of its samples beyond a step: each process keeps those of its share."""

from __future__ import annotations

import pytest

from transpile import Level, Options, convert

SCRIPT = """\
import heapq
from collections import Counter, defaultdict, deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 3
data = TensorDataset(torch.randn(24, 5), torch.arange(24) % CLASSES)
loader = DataLoader(data, batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, CLASSES)
        self.scale = 1.0
        self.register_buffer("held", torch.ones(5))
        self.register_buffer("count", torch.ones(()))
        self.register_buffer("total", torch.zeros(5))

    def forward(self, x):
        {forward}
        return self.layer(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{state}
for epoch in range(2):
    for x, y in loader:
        each = F.cross_entropy(model(x), y, reduction="none")
        weight = 1.0
        {before}
        loss = (each * weight).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
    {epoch}
"""

WEIGHT = "weight = torch.tensor([sum(counts) / one for one in counts])[y]"


def script(**parts: str) -> str:
    """The script with some of its places filled; lines after the first are indented as it is."""
    filled = dict.fromkeys(("forward", "state", "before", "after", "epoch"), "pass") | parts
    lines = []
    for line in SCRIPT.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines.append(line.format(**filled).replace("\n", "\n" + indent))
    return "\n".join(lines) + "\n"


def warnings(**parts: str) -> list[tuple[str, str]]:
    """The codes of all warnings, with the text of their lines."""
    text = script(**parts)
    lines = text.splitlines()
    return [
        (found.code, lines[found.line - 1].strip())
        for found in convert(text, Options(shard="data"), path="train.py").findings
        if found.level is not Level.NOTE
    ]


REPLAY = "loss = F.cross_entropy(model({}), {})\nloss.backward()\noptimizer.step()"

WRONG = {
    "a list of counts": (
        {
            "state": "counts = [1] * CLASSES",
            "before": f"for label in y.tolist():\n    counts[label] += 1\n{WEIGHT}",
        },
        "PT403",
    ),
    "a counter": (
        {
            "state": "seen = Counter()",
            "before": "seen.update(y.tolist())\n"
            "weight = torch.tensor([1.0 / (1 + seen[c]) for c in range(CLASSES)])[y]",
        },
        "PT403",
    ),
    "a dict of counts": (
        {
            "state": "seen = defaultdict(int)",
            "before": "for label in y:\n    seen[label.item()] += 1\n"
            "weight = 1 / sum(seen.values())",
        },
        "PT403",
    ),
    "an array of counts": (
        {
            "state": "counts = np.ones(CLASSES)",
            "before": f"np.add.at(counts, y.numpy(), 1)\n{WEIGHT}",
        },
        "PT403",
    ),
    "a set of labels": (
        {"state": "seen = set()", "before": "seen |= set(y.tolist())\nweight = len(seen)"},
        "PT403",
    ),
    "how many samples a condition keeps": (
        {
            "state": "kept = []",
            "before": "for i, one in enumerate(y):\n    if one > 0:\n        kept.append(i)\n"
            "weight = len(kept)",
        },
        "PT403",
    ),
    "samples in a queue": (
        {
            "state": "memory = deque(maxlen=4)",
            "after": "memory.extend(zip(x, y))",
            "epoch": REPLAY.format(
                "torch.stack([a for a, b in memory])", "torch.stack([b for a, b in memory])"
            ),
        },
        "PT403",
    ),
    "first samples in a list": (
        {
            "state": "kept, labels = [], []",
            "after": "kept.append(x[0])\nlabels.append(y[0])",
            "epoch": REPLAY.format("torch.stack(kept)", "torch.stack(labels)"),
        },
        "PT403",
    ),
    "the hardest samples": (
        {
            "state": "hard = []",
            "after": "hard.extend((each[i].item(), x[i], y[i]) for i in range(len(y)))",
            "epoch": "hard.sort(key=lambda one: one[0])\n"
            + REPLAY.format(
                "torch.stack([one[1] for one in hard[:4]])",
                "torch.stack([one[2] for one in hard[:4]])",
            ),
        },
        "PT403",
    ),
    "an attribute of the model": (
        {
            "forward": "self.scale = 0.9 * self.scale + 0.1 * x.abs().max().item()\n"
            "x = x / self.scale"
        },
        "PT406",
    ),
    "a buffer through another": (
        {
            "forward": "self.total.mul_(0.9).add_(x.sum(0))\nself.held.copy_(self.total / 8)\n"
            "x = x + self.held"
        },
        "PT406",
    ),
    "a buffer that is counted on": (
        {
            "forward": "self.count += x.size(0)\nself.total += x.sum(0)\n"
            "x = x - self.total / self.count"
        },
        "PT406",
    ),
    "the data of a buffer": (
        {"forward": "self.held.data = 0.9 * self.held.data + x.mean(0)\nx = x + self.held"},
        "PT408",
    ),
    "counts that decide": (
        {
            "state": "seen = {}",
            "after": "for label in y.tolist():\n    seen[label] = seen.get(label, 0) + 1",
            "epoch": "if seen.get(2, 0) > 4:\n    optimizer.param_groups[0]['lr'] *= 0.5",
        },
        "PT715",
    ),
    "counts that are printed": (
        {
            "state": "seen = Counter()",
            "after": "seen.update(y.tolist())",
            "epoch": "print(seen[0])",
        },
        "PT603",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_kept_of_samples_is_told_of(name: str) -> None:
    parts, code = WRONG[name]
    assert code in [found for found, _ in warnings(**parts)]


RIGHT = {
    "a mean of recent losses": {
        "state": "recent = deque(maxlen=4)",
        "after": "recent.append(loss.item())\nprint(sum(recent) / len(recent))",
    },
    "whole batches": {
        "state": "past = deque(maxlen=2)",
        "before": "for a, b in past:\n    each = each + F.cross_entropy(model(a), b)",
        "after": "past.append((x, y))",
    },
    "numbers in a dict of lists": {
        "state": "log = defaultdict(list)",
        "after": "log['loss'].append(loss.item())",
        "epoch": "print(sum(log['loss']) / len(log['loss']))",
    },
    "steps in a buffer": {"forward": "self.count += 1\nx = x * self.count"},
    "counts of the whole data set": {
        "state": "counts = Counter(data.tensors[1].tolist())\n"
        "share = torch.tensor([1.0 / counts[c] for c in range(CLASSES)])",
        "before": "weight = share[y]",
    },
    "labels as vectors": {
        "before": "target = torch.zeros(len(y), CLASSES)\ntarget[torch.arange(len(y)), y] = 1\n"
        "each = (model(x) - target).pow(2)",
    },
    "steps by their number": {
        "state": "seen = {}",
        "before": "seen[epoch] = seen.get(epoch, 0) + 1\nweight = len(seen)",
        "epoch": "print(seen)",
    },
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_the_same_over_all_processes_is_left_alone(name: str) -> None:
    assert warnings(**RIGHT[name]) == []


def test_the_line_that_keeps_them_is_named() -> None:
    text = script(state="seen = Counter()", after="seen.update(y.tolist())", epoch="print(seen[0])")
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "seen.update" in one)
    (found,) = [one for one in convert(text, Options(shard="data")).findings if one.code == "PT603"]
    assert f"in line {line}" in found.message
