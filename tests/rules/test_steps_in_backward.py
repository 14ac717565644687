"""Optimizers that step in hooks of the backward pass, before gradients are averaged."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = """\
from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1))
loader = DataLoader(TensorDataset(torch.randn(48, 6), torch.randn(48, 1)), batch_size=12)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
optimizers = {p: torch.optim.SGD([p], lr=0.05) for p in model.parameters()}
seen = []
HOOK
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""
STEPS = {
    "function": """
def step(p):
    optimizers[p].step()
    optimizers[p].zero_grad()

for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
""",
    "closure": """
def stepping(own):
    def step(p):
        own.step()
    return step

for p in model.parameters():
    p.register_post_accumulate_grad_hook(stepping(optimizers[p]))
""",
    "partial": """
def step(p, own):
    own.step()

for p in model.parameters():
    p.register_post_accumulate_grad_hook(partial(step, own=optimizers[p]))
""",
    "method": """
class Steps:
    def __init__(self, model):
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(self.step)

    def step(self, p):
        optimizers[p].step()

Steps(model)
""",
    "update by hand": """
@torch.no_grad()
def descend(p):
    p.add_(p.grad, alpha=-0.05)
    p.grad = None

for p in model.parameters():
    p.register_post_accumulate_grad_hook(descend)
""",
    "hook of a tensor": "model[0].weight.register_hook(lambda grad: optimizer.step())",
    "hook of a layer": """
def step(layer, before, after):
    optimizer.step()

model[0].register_full_backward_hook(step)
""",
}
OTHERS = {
    "halves": "model[0].weight.register_hook(lambda grad: grad * 0.5)",
    "looks": "model[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.shape))",
    "hook of the optimizer": """
def count(optimizer, args, kwargs):
    seen.append(1)

optimizer.register_step_post_hook(count)
""",
}


def result(hook: str) -> Result:
    """What becomes of the script with a hook."""
    return convert(SCRIPT.replace("HOOK\n", hook + "\n"), path="train.py")


@pytest.mark.parametrize("name", STEPS)
def test_step_within_the_backward_pass_is_refused(name: str) -> None:
    found = result(STEPS[name])
    assert found.outcome is Outcome.REFUSED
    assert "PT412" in {each.code for each in found.findings}


@pytest.mark.parametrize("name", OTHERS)
def test_other_hooks_stay(name: str) -> None:
    found = result(OTHERS[name])
    assert found.outcome is Outcome.CONVERTED
    assert all(each.level.label == "note" for each in found.findings)
