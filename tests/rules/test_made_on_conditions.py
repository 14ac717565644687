"""Models and loaders that only some runs make."""

from __future__ import annotations

from typing import Literal

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--extra", action="store_true")
args = parser.parse_args()
data = TensorDataset(torch.randn(16, 6))
loader = DataLoader(data, batch_size=4, shuffle=True)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{made}
for epoch in range(2):
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        {used}
        loss.backward()
        optimizer.step()
    {passed}
"""
USED = "if args.extra:\n            loss = loss + other(x).pow(2).mean()"
MADE = """\
if args.extra:
    other = nn.Linear(6, 6)
    optimizer.add_param_group({"params": other.parameters()})
"""
WRAP = "other = DistributedDataParallel(other)"


def script(made: str, used: str = USED, passed: str = "pass") -> str:
    return SCRIPT.format(made=made, used=used, passed=passed)


@pytest.mark.parametrize("way", ["data", "calls"])
def test_a_model_is_wrapped_in_the_arm_that_makes_it(way: Literal["data", "calls"]) -> None:
    found = convert(script(MADE), Options(shard=way))
    assert found.outcome is Outcome.CONVERTED
    arm = found.text.split("\nif args.extra:\n", 1)[1].split("\nfor epoch", 1)[0]
    assert "    if get_world_size() > 1:\n        other = " in arm
    assert "\nif get_world_size() > 1:\n    other" not in found.text


@pytest.mark.parametrize(
    "made",
    [
        "if args.extra:\n    other = nn.Linear(6, 6)\nelse:\n    other = nn.Linear(6, 6, False)",
        "if args.extra:\n    other = nn.Linear(6, 6)\nelse:\n    raise SystemExit",
        "other = None\nif args.extra:\n    other = nn.Linear(6, 6)",
        "if args.extra:\n    other = nn.Linear(6, 6)\nother.train()",
    ],
    ids=["both arms", "the other arm leaves", "bound above", "read in any case"],
)
def test_a_model_of_every_run_is_wrapped_behind_its_arms(made: str) -> None:
    adds = '\noptimizer.add_param_group({"params": other.parameters()})'
    adds = adds if "None" not in made else "\nif args.extra:" + adds.replace("\n", "\n    ")
    found = convert(script(made + adds), Options(shard="data"))
    assert found.outcome is Outcome.CONVERTED
    assert found.text.count(WRAP) == 1
    assert f"\n    {WRAP}" in found.text and f"\n        {WRAP}" not in found.text


def test_a_loader_of_some_runs_is_told_the_epoch_where_it_is_drawn_from() -> None:
    made = MADE + "    second = DataLoader(data, batch_size=4, shuffle=True)\n"
    passed = """if args.extra:
        for (x,) in second:
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()"""
    text = convert(script(made, passed=passed), Options(shard="data")).text
    top, _ = text.split("for epoch in range(2):\n", 1)[1].split("    if args.extra:\n        ", 1)
    assert "second.s" not in top and "train_sampler.set_epoch(epoch)" in top
    assert "second.sampler.set_epoch(epoch)" in text.split("for (x,) in second")[0]
