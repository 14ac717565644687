"""Models that no variable holds for a wrap: their ``forward`` has its calls split instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import FIXTURES
from test_split_methods import said, split

from transpile import Options, Outcome, Result, convert
from transpile.verify import Auditor

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        {made}

    def forward(self, x):
        return self.layer(x){given}


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = Net(), Net()

    def forward(self, x):
        return self.one(x) + self.other(x)


torch.manual_seed(0)
samples, labels = torch.randn(48, 4), torch.randint(0, 3, (48,))
{models}
optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)
for epoch in range(3):
    for rows in torch.randperm(48).split(12):
        outputs = {calls}
        loss = sum(nn.functional.cross_entropy(one, labels[rows]) for one in outputs)
        loss = loss + torch.stack(outputs).std(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PLAIN = {
    "made": "pass",
    "given": "",
    "models": "nets = [Net(), Net()]",
    "calls": "[net(samples[rows]) for net in nets]",
}


def converted(**parts: str) -> Result:
    """What becomes of several models."""
    return convert(HEAD.format(**{**PLAIN, **parts}), Options(shard="calls"), path="train.py")


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {
            "models": "named = {'a': Net(), 'b': Net()}\nnets = named.values()",
            "calls": "[named[key](samples[rows]) for key in named]",
        },
        {"calls": "[nets[0](samples[rows]), nets[1](samples[rows])]"},
    ],
    ids=["list", "dict", "positions"],
)
def test_models_of_one_class_are_split(parts: dict[str, str]) -> None:
    result = converted(**parts)
    assert result.outcome is Outcome.CONVERTED, said(result)
    assert split(result.text) == ["forward"]
    assert "average_gradients(optimizer)" in result.text
    assert "PT353" not in said(result)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"given": " - self.layer(x).mean(0)"}, "'mean' is taken over the samples"),
        ({"made": "self.norm = nn.BatchNorm1d(4)", "given": " + self.layer(self.norm(x))"},
         "it holds batch norm, which is synchronised in calls of a whole model alone"),
        ({"models": "nets = [Net(), Net()]\ntorch.jit.script(nets[0])"},
         "the script compiles models"),
    ],
    ids=["mixing", "norm", "scripted"],
)  # fmt: skip
def test_others_are_computed_whole(parts: dict[str, str], reason: str) -> None:
    result = converted(**parts)
    assert result.outcome is Outcome.REFUSED
    assert f"computes the calls of 'forward' whole: {reason}" in said(result)
    assert any(one.code == "PT352" for one in result.findings)


def test_parts_of_a_wrapped_model_are_not_split_once_more() -> None:
    pair = "pair = Pair()\nnets = [Net(), Net()]"
    calls = "[pair(samples[rows]), *(net(samples[rows]) for net in nets)]"
    parts = {**PLAIN, "models": pair, "calls": calls}
    text = HEAD.format(**parts).replace("for net in nets for p", "for net in [pair, *nets] for p")
    result = convert(text, Options(shard="calls"), path="train.py")
    assert result.outcome is Outcome.CONVERTED, said(result)
    assert not split(result.text)
    assert "'forward' whole: it is called by a model, too, whose wrap splits" in said(result)


def test_verify_sees_whether_calls_are_split(tmp_path: Path) -> None:
    """Also with no wrap that shows it: what the layers are given does."""
    script = FIXTURES / "pytorch" / "ensemble_in_a_list" / "train.py"
    output = script.with_name("train_dist.py").read_text("utf-8")
    mark = "    @split_method(SplitMethod)\n"
    assert mark in output
    whole = tmp_path / "train_dist.py"
    whole.write_text(output.replace(mark, ""))
    with Auditor() as auditor:
        report = auditor.audit(script, whole, world_sizes=(2,))
    failed = [check.name for run in report.runs for check in run.checks if check.failed]
    assert failed == ["training shards disjoint", "global batch"]
