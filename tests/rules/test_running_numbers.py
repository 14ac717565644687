"""Numbers kept in lists, dicts and counters: reduced wherever they are reported or set a rate."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = """\
from collections import defaultdict

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
loader = DataLoader(data, batch_size=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
tokens = 0
for epoch in range(3):
    kept = {kept}
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        {step}
    {report}
"""


def running(kept: str, step: str, report: str) -> Result:
    """The result for a script that keeps numbers of its batches."""
    return convert(SCRIPT.format(kept=kept, step=step, report=report).encode())


@pytest.mark.parametrize(
    ("kept", "step", "report"),
    [
        ("[0.0, 0.0]", "kept[0] += loss.item()", "print(kept[0] / len(loader))"),
        ("[0.0, 0.0]", "kept[-1] += loss.item()", "print(kept[1] / len(loader))"),
        ("[0.0] * 2", "kept[epoch % 2] += loss.item()", "print(kept[0] / len(loader))"),
        ("np.zeros(2)", "kept[0] += loss.item()", "print(kept / len(loader))"),
        ("torch.zeros(2)", "kept[epoch % 2] += loss.item()", "print(kept.sum() / len(loader))"),
        ("defaultdict(float)", "kept['a'] += loss.item()", "print(kept['a'] / len(loader))"),
        (
            "{'loss': 0.0}",
            "for name in kept: kept[name] += loss.item()",
            "print(kept['loss'] / len(loader))",
        ),
    ],
)
def test_what_is_kept_in_a_place_is_reduced(kept: str, step: str, report: str) -> None:
    assert "+= reduce_mean(loss).item()" in running(kept, step, report).text


def test_entries_of_a_dict_with_unknown_keys_are_told() -> None:
    means = "means = {name: np.mean([one[name] for one in kept]) for name in kept[0]}"
    report = f"{means}\n    print(' '.join(f'{{name}} {{mean}}' for name, mean in means.items()))"
    step = "kept.append({name: loss.item() + 1 for name in open('names.txt')})"
    text = running("[]", step, report).text
    assert "reduce_mean(loss).item() + 1" in text


RATE = """\
tokens += (y >= 0).sum()
        rate = 0.1 * (1 - float(tokens - 4) / 100)
        for group in optimizer.param_groups:
            group["lr"] = rate"""


def test_counter_behind_a_rate_is_that_of_all_processes() -> None:
    result = running("0", RATE, "print(rate)")
    assert "float(reduce_sum(tokens) - 4)" in result.text


def test_counter_behind_a_rate_is_refused_where_nothing_reduces_it() -> None:
    result = running("0", RATE, "print(epoch)")
    assert result.outcome is Outcome.REFUSED
    assert "PT712" in [finding.code for finding in result.findings]


def test_reducing_one_use_does_not_reduce_another() -> None:
    step = RATE.replace("float(tokens - 4)", "float(tokens)").replace("0.1 *", "float(tokens) *")
    result = running("0", step, "print(float(tokens))")
    assert result.outcome is Outcome.REFUSED


PHASES = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

sets = {name: TensorDataset(torch.randn(30, 4), torch.randint(0, 2, (30,))) for name in ["a", "b"]}
loaders = {name: DataLoader(sets[name], batch_size=6) for name in ["a", "b"]}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for name in ["a", "b"]:
        hits = 0
        for x, y in loaders[name]:
            out = model(x)
            if name == "a":
                optimizer.zero_grad()
                nn.functional.cross_entropy(out, y).backward()
                optimizer.step()
            hits += torch.sum(out.argmax(1) == y)
        accuracy = hits.double() / len(sets[name])
        print(f"{name} {accuracy:.3f}")
"""


def test_tensor_added_up_by_training_and_evaluation_is_reduced_where_it_is_known_which() -> None:
    result = convert(PHASES.encode())
    assert "hits += reduce_shards(torch.sum(out.argmax(1) == y), loaders[name])" in result.text
    assert "PT603" not in [finding.code for finding in result.findings]


UNSEEN_METER = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from timm.utils import AverageMeter
from samples import samples

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    losses = AverageMeter()
    for x, y in DataLoader(samples, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), x.size(0))
    print(losses.avg)
"""


def test_a_meter_of_a_library_is_given_what_all_processes_have() -> None:
    result = convert(UNSEEN_METER.encode())
    assert result.text is not None
    assert "losses.update(reduce_mean(loss).item(), " in result.text
