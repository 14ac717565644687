"""One function that trains and evaluates, and asks which of both it is to do."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(40, 4)
y = (x.sum(1) > 0).long()
train_loader = DataLoader(TensorDataset(x[:24], y[:24]), batch_size=12)
test_loader = DataLoader(TensorDataset(x[24:], y[24:]), batch_size=12)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run(loader, train):
    #SWITCH
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images), labels)
        if #TEST:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


for epoch in range(2):
    #BEFORE
    run(train_loader, True)
    #BETWEEN
    run(test_loader, False)
"""
NOTHING = "pass"


def converted(switch: str, test: str, before: str, between: str) -> str:
    """What comes of the script, with its switches and its test."""
    places = {"#SWITCH": switch, "#TEST": test, "#BEFORE": before, "#BETWEEN": between}
    text = SCRIPT
    for place, code in places.items():
        text = text.replace(place, code)
    result = convert(text, path="train.py")
    assert result.outcome is Outcome.CONVERTED, [finding.message for finding in result.findings]
    return result.text


@pytest.mark.parametrize(
    ("switch", "test", "before", "between"),
    [
        (NOTHING, "model.training", "model.train()", "model.eval()"),
        (NOTHING, "not not model.training and True", "model.train()", "model.eval()"),
        ("model.train(train)", "model.training", NOTHING, NOTHING),
        ("torch.set_grad_enabled(train)", "torch.is_grad_enabled()", NOTHING, NOTHING),
        ("torch.set_grad_enabled(train)", "loss.requires_grad", NOTHING, NOTHING),
    ],
)
def test_a_pass_that_never_trains_is_left_whole(
    switch: str, test: str, before: str, between: str
) -> None:
    text = converted(switch, test, before, between)
    assert "sampler=train_sampler" in text
    assert "test_loader = DataLoader(TensorDataset(x[24:], y[24:]), batch_size=12)" in text


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("model.train()", NOTHING),
        ("model.eval()", "model.train()"),
        ("model.train()", "if epoch:\n        model.eval()"),
        ("if not epoch:\n        model.eval()", NOTHING),
    ],
)
def test_a_pass_that_may_train_is_shared_out(before: str, between: str) -> None:
    assert "sampler=test_sampler" in converted(NOTHING, "model.training", before, between)


def test_a_mode_that_the_round_before_has_left_does_not_count() -> None:
    text = SCRIPT.replace("for epoch", "model.eval()\nfor epoch").replace("#TEST", "model.training")
    text = text.replace(
        "    run(test_loader, False)", "    run(test_loader, False)\n    model.train()"
    )
    for place in ("#SWITCH", "#BEFORE", "#BETWEEN"):
        text = text.replace(place, NOTHING)
    result = convert(text, path="train.py")
    assert "sampler=test_sampler" in result.text


@pytest.mark.parametrize(
    "around",
    [
        "(torch.enable_grad() if train else torch.no_grad())",
        "(torch.no_grad() if not train else torch.enable_grad())",
        "(contextlib.nullcontext() if train else torch.no_grad())",
    ],
)
def test_gradients_that_a_choice_may_leave_on_are_trained_by(around: str) -> None:
    """Where an optimizer is given, ``optimizer is not None`` is what switches them on."""
    text = f"""\
import contextlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(40, 4)
y = (x.sum(1) > 0).long()
train_loader = DataLoader(TensorDataset(x[:24], y[:24]), batch_size=12)
test_loader = DataLoader(TensorDataset(x[24:], y[24:]), batch_size=12)
model = nn.Linear(4, 2)


def run(loader, optimizer):
    train = optimizer is not None
    with {around}:
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            if train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    run(train_loader, optimizer)
    run(test_loader, None)
"""
    result = convert(text, path="train.py")
    assert result.outcome is Outcome.CONVERTED, [finding.message for finding in result.findings]
    assert "DistributedDataParallel(model)" in result.text
    assert result.text.count("DistributedSampler(train") == 1
