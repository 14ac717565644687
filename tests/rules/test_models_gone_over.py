"""Layers that a loop takes out of a ModuleDict or ModuleList, each with an optimizer of its own."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 3)
loader = DataLoader(TensorDataset(x, x.prod(1, keepdim=True)), batch_size=8)
members = {members}
optimizers = {optimizers}
for epoch in range(2):
    for a, b in loader:
        for {each}:
            loss = (member(a) - b).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
DICT = 'nn.ModuleDict({f"m{k}": nn.Linear(3, 1) for k in range(2)})'
SGD = "torch.optim.SGD(m.parameters(), lr=0.1)"
BY_NAME = f"{{name: {SGD} for name, m in members.items()}}"


def outcome(members: str, optimizers: str, each: str) -> tuple[list[str], str]:
    """The codes of what is refused, and the output."""
    text = SCRIPT.format(members=members, optimizers=optimizers, each=each)
    result = convert(text, Options(shard="data"), path="train.py")
    return [each.code for each in result.findings if each.level.name == "ERROR"], result.text


@pytest.mark.parametrize("way", ["m in members.values()", "_, m in members.named_children()"])
def test_what_optimizers_hold_belongs_to_the_whole(way: str) -> None:
    over = way.partition(" in ")[2].replace("named_", "")
    each = f"member, optimizer in zip({over}, optimizers)"
    refused, text = outcome(DICT, f"[{SGD} for {way}]", each)
    assert refused == []
    assert "average_gradients(optimizer)" in text


def test_members_by_name_are_trained_by_optimizers_of_that_name() -> None:
    text = SCRIPT.replace("optimizer.", "optimizers[name].")
    text = text.format(members=DICT, optimizers=BY_NAME, each="name, member in members.items()")
    result = convert(text, Options(shard="data"), path="train.py")
    assert "average_gradients(optimizers[name])" in result.text


def test_what_is_gone_over_elsewhere_is_no_model() -> None:
    each = "member, optimizer in zip(members, optimizers)"
    refused, _ = outcome("library.members()", f"[{SGD} for m in members]", each)
    assert refused
