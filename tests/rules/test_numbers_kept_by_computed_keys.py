"""Numbers that are kept in dicts under keys that a comprehension or a loop computes."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(80, 4)
y = (x[:, 0] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
measures = {{
    "right": lambda out, y: (out.argmax(1) == y).double().mean(),
    "sure": lambda out, y: out.softmax(1).max(1).values.mean(),
}}
log = {log}
for a, b in loader:
    out = model(a)
    optimizer.zero_grad()
    nn.functional.cross_entropy(out, b).backward()
    optimizer.step()
    for name, measure in measures.items():
        log[name].append(measure(out.detach(), b).item())
{shown}
"""
MADE = (
    "{name: [] for name in measures}",
    "{name: [] for name in ('right', 'sure')}",
    "{name: [] for name in sorted(measures)}",
    "dict((name, []) for name in measures)",
    '{"right": [], "sure": []}',
)
SHOWN = (
    "print({name: sum(kept) / len(kept) for name, kept in log.items()})",
    "for name in log:\n    print(name, sum(log[name]) / len(log[name]))",
    'print(sum(log["sure"]) / len(log["sure"]))',
)


@pytest.mark.parametrize("log", MADE)
@pytest.mark.parametrize("shown", SHOWN)
def test_numbers_under_computed_keys_are_reduced(log: str, shown: str) -> None:
    result = convert(SCRIPT.format(log=log, shown=shown).encode())
    told = {finding.code for finding in result.findings}
    assert "average_numbers(" in result.text or "reduce_mean(" in result.text or "PT603" in told
