"""DataParallel gives way where it always is, and keeps to one GPU where it may be."""

from __future__ import annotations

import os
from string import Template
from typing import Any

import pytest
import torch
from small_scripts import converted, findings, gone_lines, new_lines, script, undone

from transpile import Level, Options, Outcome, convert
from transpile.prelude import prelude_of

RULE = "replace-data-parallel"
SAVE = 'torch.save(model.state_dict(), "m.pt")'


@pytest.mark.parametrize(
    "line",
    [
        "model = nn.DataParallel(model)",
        "model = nn.DataParallel(model).cuda()",
        "model = torch.nn.DataParallel(model.cuda()).to(args.device)",
        "model = nn.DataParallel(model)\nmodel.cuda()",
        "model = nn.DataParallel(model)\nmodel = model.cuda()",
        "from torch.nn.parallel import DataParallel\nmodel = DataParallel(model)",
    ],
)
def test_where_it_always_is_the_distributed_one_takes_its_place(line: str) -> None:
    source = script(model=line, end=SAVE)
    lines = new_lines(source)
    assert "model = DistributedDataParallel(model.module)" in lines
    assert 'torch.save(model.state_dict(), "m.pt")' in lines or SAVE in converted(source).text
    assert not [each for each in lines if "unwrap" in each or "own_gpus" in each]
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    "end",
    [
        'torch.save(model.module.state_dict(), "m.pt")',
        'model.load_state_dict(torch.load("m.pt", map_location="cpu"))',
        "print(model.module.weight)",
        'print(hasattr(model, "module"))',
        "model.train()",
    ],
)
def test_what_both_wrappers_have_stays(end: str) -> None:
    source = script(model="model = nn.DataParallel(model)", end=end)
    assert "model = DistributedDataParallel(model.module)" in new_lines(source)
    assert "unwrap" not in converted(source).text


@pytest.mark.parametrize(
    ("end", "after"),
    [
        ("print(isinstance(model, nn.DataParallel))", "isinstance(unwrap(model), nn.DataParallel)"),
        ('torch.save(model, "m.pt")', "torch.save(unwrap(model), "),
        ("print(model.device_ids)", "unwrap(model).device_ids"),
    ],
)
def test_where_only_data_parallel_will_do_it_stays_within(end: str, after: str) -> None:
    source = script(model="model = nn.DataParallel(model)", end=end)
    lines = new_lines(source)
    assert "model = nn.DataParallel(model, device_ids=own_gpus())" in lines
    assert "model = DistributedDataParallel(model)" in lines
    assert any(after in line for line in lines)
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "if args.gpu > 1: model = nn.DataParallel(model)",
            "if args.gpu > 1: model = nn.DataParallel(model, device_ids=own_gpus())",
        ),
        (
            "model = nn.DataParallel(model) if args.gpu else model",
            "model = nn.DataParallel(model, device_ids=own_gpus()) if args.gpu else model",
        ),
        (
            "if args.gpu: model = nn.DataParallel(model, device_ids=[0, 1])",
            "if args.gpu: model = nn.DataParallel(model, device_ids=own_gpus([0, 1]))",
        ),
        (
            "if args.gpu: model = nn.DataParallel(model, range(args.gpu))",
            "if args.gpu: model = nn.DataParallel(model, own_gpus(range(args.gpu)))",
        ),
    ],
)
def test_where_it_may_be_it_keeps_to_the_own_gpu(before: str, after: str) -> None:
    source = script(model=before, end='torch.save(model.state_dict(), "m.pt")')
    lines = new_lines(source)
    assert after in lines
    assert "model = DistributedDataParallel(model)" in lines
    assert any("unwrap(model).state_dict()" in line for line in lines)
    assert undone(source, RULE) == []


def test_module_is_reached_behind_both() -> None:
    source = script(
        model="if args.gpu: model = nn.DataParallel(model)",
        end='inner = model.module if hasattr(model, "module") else model\nprint(inner.weight)',
    )
    lines = new_lines(source)
    assert 'inner = unwrap(model).module if hasattr(unwrap(model), "module") else model' in lines
    assert "print_once(unwrap(inner).weight)" in lines


def test_model_of_the_script_may_be_a_data_parallel() -> None:
    top = "class Net(nn.Linear):\n    pass\n"
    source = script(
        top=top,
        model="model = Net(3, 1)\nif args.gpu: model = nn.DataParallel(model)",
        end="inner = model.module if isinstance(model, nn.DataParallel) else model\n"
        'torch.save(inner.state_dict(), "m.pt")',
    )
    after = "inner = unwrap(model).module if isinstance(unwrap(model), nn.DataParallel) else model"
    assert after in new_lines(source)


def test_one_variable_for_several_models_is_treated_alike() -> None:
    source = script(
        model="if args.gpu: model = nn.Linear(3, 1, bias=False)\nmodel = nn.DataParallel(model)",
        end=SAVE,
    )
    assert "model = DistributedDataParallel(model.module)" in new_lines(source)
    assert "unwrap" not in converted(source).text
    source = script(
        model="if args.gpu: model = nn.DataParallel(nn.Linear(3, 1, bias=False))", end=SAVE
    )
    lines = new_lines(source)
    assert "model = DistributedDataParallel(model)" in lines
    assert any("unwrap(model).state_dict()" in line for line in lines)


def test_named_gpus_are_replaced_even_where_the_wrapper_gives_way() -> None:
    source = script(model="model = nn.DataParallel(model, device_ids=[0])")
    lines = new_lines(source)
    assert "model = nn.DataParallel(model, device_ids=own_gpus([0]))" in lines
    assert "model = DistributedDataParallel(model.module)" in lines
    assert undone(source, RULE) == []


def test_part_of_a_model_keeps_its_wrapper() -> None:
    source = script(
        model="model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))\n"
        "model[0] = nn.DataParallel(model[0])",
        end=SAVE,
    )
    lines = new_lines(source)
    assert "model[0] = nn.DataParallel(model[0], device_ids=own_gpus())" in lines
    assert "model = DistributedDataParallel(model)" in lines
    assert any("unwrap(model).state_dict()" in line for line in lines)


def test_functional_form_keeps_to_the_own_gpu() -> None:
    source = script(
        top="class Net(nn.Module):\n"
        "    def __init__(self, gpus):\n"
        "        super().__init__()\n"
        "        self.gpus = gpus\n"
        "        self.main = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        if x.is_cuda and self.gpus > 1:\n"
        "            return nn.parallel.data_parallel(self.main, x, range(self.gpus))\n"
        "        return self.main(x)\n",
        model="model = Net(2)",
    )
    line = "return nn.parallel.data_parallel(self.main, x, own_gpus(range(self.gpus)))"
    assert line in new_lines(source)
    assert undone(source, RULE) == []


def test_derived_classes_are_refused() -> None:
    source = script(
        top="class Passthrough(nn.DataParallel):\n    pass\n", model="model = Passthrough(model)"
    )
    assert [level for level, _, _ in findings(source, "PT812")] == [Level.ERROR]


def test_script_without_it_is_not_touched_by_the_rule() -> None:
    result = converted(script())
    assert result.outcome is Outcome.CONVERTED
    assert not [decision for decision in result.decisions if decision.rule == RULE]
    assert gone_lines(script()) == [
        "loader = DataLoader(data, batch_size=4)",
    ]


def test_own_gpus_is_what_was_given_without_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"os": os, "torch": torch, "own_gpu": lambda: 3, "Any": Any}
    code = Template(prelude_of("pytorch")["own_gpus"].code)
    names = {name: name for name in ("own_gpus", "own_gpu", "os", "torch", "Any")}
    exec(code.substitute(names), space)
    own_gpus = space["own_gpus"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.delenv("RANK", raising=False)
    assert own_gpus() is None
    assert own_gpus([0, 1]) == [0, 1]
    monkeypatch.setenv("RANK", "0")
    assert own_gpus([0, 1]) == [3]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert own_gpus([0, 1]) == [0, 1]


SCATTERED = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
model = nn.DataParallel(nn.Linear(4, 2)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(INPUT), y.cuda()).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("given", "told"), [("x", True), ("x.cuda()", False), ("-x", True)])
def test_inputs_that_only_data_parallel_moved_are_warned_of(given: str, told: bool) -> None:
    result = convert(SCATTERED.replace("INPUT", given), path="train.py")
    assert ("PT814" in {finding.code for finding in result.findings}) == told


@pytest.mark.parametrize("copied", ["copy.deepcopy(model)", "copy.deepcopy(model).eval()"])
def test_a_copy_keeps_to_the_gpu_of_its_process(copied: str) -> None:
    """Only the model that is trained is taken out of DataParallel."""
    made = "model = nn.DataParallel(model)"
    text = converted(script(top="import copy", model=f"{made}\naverage = {copied}")).text
    assert f"{made[:-1]}, device_ids=own_gpus())" in text
    assert "DistributedDataParallel(model.module)" in text
    assert made in converted(script(model=made)).text


PASSES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(8, 8)
        self.c = nn.Linear(8, 2)

    def forward(self, x, more=False):
        x = self.a(x)
        if more:
            x = self.b(x)
        return self.c(x)


loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 2)), batch_size=8)
model = Net()
model = nn.DataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y) + nn.functional.mse_loss(model(x, more=True), y)
    loss.backward()
    optimizer.step()
"""
TRAINS_ITSELF = """\
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, parallel):
        super().__init__()
        self.encoder = nn.Linear(4, 1)
        if parallel:
            self.encoder = nn.DataParallel(self.encoder)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=0.01)

    def train(self, xs, ys):
        for at in range(0, len(xs), 8):
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.encoder(xs[at:at + 8]), ys[at:at + 8]).backward()
            self.optimizer.step()


Forecaster(False).train(torch.randn(32, 4), torch.randn(32, 1))
"""


@pytest.mark.parametrize("source", [PASSES, TRAINS_ITSELF])
def test_where_gradients_are_averaged_by_hand_it_keeps_to_the_own_gpu(source: str) -> None:
    """Parameters within it are those of the model: nothing takes its place."""
    result = convert(source.encode(), Options(shard="data"))
    assert result.outcome is Outcome.CONVERTED
    assert not result.findings
    assert ", device_ids=own_gpus())\n" in result.text
    assert "average_gradients(" in result.text
    assert "DistributedDataParallel" not in result.text
