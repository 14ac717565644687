"""Questions whether a dict has a key: its keys answer them, not what stands under these."""

from __future__ import annotations

import libcst as cst
import pytest
from data_way import convert
from single_rule import plan_of

from transpile import Outcome
from transpile.rules.pytorch.agreement._divergence.causes import Cause
from transpile.rules.pytorch.agreement._divergence.expressions import Divergence

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

init = {{}}


def relative(name, v, y):
    {body}
    return v / init.get(name, 1.0)


net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(64, 6), torch.randn(64, 3)), batch_size=16)
for x, y in loader:
    loss = relative("mse", F.mse_loss(net(x), y), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ALIKE = "if name not in init:\n        init[name] = v.item()"
PLAIN = [
    ALIKE,
    'if "mse" not in init:\n        init["mse"] = v.item()',
    "missing = name not in init\n    if missing:\n        init[name] = v.item()",
    "if name in init:\n        pass\n    else:\n        init[name] = v.item()",
]
OWN = [
    "if y[0, 0].item() not in init:\n        init[name] = v.item()",
    "init[y[0, 0].item()] = 1.0\n    if name not in init:\n        init[name] = v.item()",
    "if y[0, 0].item() > 1:\n        init['large'] = 1.0\n"
    "    if 'large' in init:\n        init[name] = 2.0",
    "if y[0, 0].item() > 1:\n        init.update(large=y[0, 0].item())\n"
    "    if 'large' in init:\n        v = v * 2",
    "init[name] = y[0, 0].item()\n    if y[0, 0].item() > 1:\n        del init[name]\n"
    "    if name in init:\n        v = v * 2",
    "init[name] = v.item()\n    if y[0, 0].item() in init.values():\n        v = v * 2",
    "init = {k: w for k, w in {'a': y[0, 0].item()}.items() if w > 1}\n"
    "    if 'a' in init:\n        v = v * 2",
]


def causes(body: str) -> set[Cause | None]:
    """Why the processes may answer the questions that ask for something in a container."""
    plan = plan_of(SCRIPT.format(body=body))
    divergence = Divergence(plan, len(plan.facts.events))
    asked = [
        node
        for node in plan.entry.source.nodes_of(cst.Comparison)
        if isinstance(node.comparisons[0].operator, (cst.In, cst.NotIn))
    ]
    return {divergence.cause(plan.entry, node) for node in asked}


@pytest.mark.parametrize("body", PLAIN)
def test_keys_are_the_same_in_every_process(body: str) -> None:
    assert causes(body) == {None}
    assert convert(SCRIPT.format(body=body)).outcome is Outcome.CONVERTED


@pytest.mark.parametrize("body", OWN)
def test_keys_that_hang_on_samples_are_not(body: str) -> None:
    assert causes(body) == {Cause.BATCH}
