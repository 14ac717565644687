"""Optimizers of packages that the tool does not know, by what they are given."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import AdamW

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
loader = DataLoader(data, batch_size=8)
model = nn.Linear(4, 2)
{groups}
optimizer = AdamW({given}, lr=0.1)
for epoch in range(2):
    for x, y in loader:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        model.zero_grad()
"""
GROUPS = """\
groups = [
    {"params": [p for n, p in model.named_parameters() if "bias" not in n], "weight_decay": 0.1},
    {"params": [p for n, p in model.named_parameters() if "bias" in n], "weight_decay": 0.0},
]
"""


@pytest.mark.parametrize(
    ("groups", "given"), [("", "model.parameters()"), (GROUPS, "groups"), (GROUPS, "params=groups")]
)
def test_a_class_that_is_given_parameters_is_an_optimizer(groups: str, given: str) -> None:
    """Groups of parameters say it as parameters do."""
    result = convert(SCRIPT.format(groups=groups, given=given).encode())
    assert result.outcome is Outcome.CONVERTED
    assert "model = DistributedDataParallel(model)" in result.text
