"""Training sets that are chosen by what training batches gave, and parameters that are added."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome
from transpile import convert as convert_on_any_way

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

x = torch.sin(torch.arange(288.0)).view(48, 6)
y = torch.cos(torch.arange(144.0)).view(48, 3)
data = TensorDataset(x, y, torch.arange(48))
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
chosen = list(range(24))
for epoch in range(3):
    found = {empty}
    for a, b, i in DataLoader(Subset(data, chosen), batch_size=12):
        optimizer.zero_grad()
        each = (model(a) - b).square().mean(1)
        each.mean().backward()
        optimizer.step()
        {kept}
    chosen = {chosen}
"""
HARDEST = "sorted(found, key=found.get)[-24:]"


@pytest.mark.parametrize(
    ("empty", "kept", "chosen"),
    [
        ("{}", "found.update(zip(i.tolist(), each.tolist()))", HARDEST),
        ("{}", "for k, v in zip(i.tolist(), each.tolist()): found[k] = v", HARDEST),
        ("{}", "found.update(zip(i.tolist(), each.tolist()))", "list(found.keys())[-24:]"),
        ("{}", "found.update(zip(i.tolist(), each.tolist()))", "[k for k, v in found.items()]"),
        ("[]", "found += zip(each.tolist(), i.tolist())", "[i for _, i in sorted(found)[-24:]]"),
        ("torch.zeros(48)", "found[i] = each.detach()", "found.argsort()[-24:].tolist()"),
    ],
)
def test_data_that_a_share_chooses_is_refused(empty: str, kept: str, chosen: str) -> None:
    script = SCRIPT.format(empty=empty, kept=kept, chosen=chosen)
    result = convert(script)
    assert result.outcome is Outcome.REFUSED
    assert "PT218" in {finding.code for finding in result.findings}
    assert convert_on_any_way(script).outcome is Outcome.CONVERTED


@pytest.mark.parametrize("chosen", ["list(range(24 + epoch))", "chosen[12:] + chosen[:12]"])
def test_data_that_all_processes_choose_alike_is_not(chosen: str) -> None:
    result = convert(SCRIPT.format(empty="{}", kept="found[epoch] = len(a)", chosen=chosen))
    assert "PT218" not in {finding.code for finding in result.findings}


ADDED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(48, 6), torch.randn(48, 3)
model, head = nn.Linear(6, 3), nn.Linear(3, 3)
scale = nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.add_param_group({group})
for a, b in DataLoader(TensorDataset(x, y), batch_size=12):
    optimizer.zero_grad()
    nn.functional.mse_loss({output}, b).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("group", "output", "averaged"),
    [
        ('{"params": [scale]}', "model(a) * scale", "average_gradients(optimizer)"),
        ('{"params": head.parameters()}', "head(model(a))", "head = DistributedDataParallel(head)"),
    ],
)
def test_parameters_that_are_added_are_trained_alike(
    group: str, output: str, averaged: str
) -> None:
    text = convert(ADDED.format(group=group, output=output)).text
    assert averaged in text
