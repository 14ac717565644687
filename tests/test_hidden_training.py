"""A script whose training is not followed is refused, and one without any is left alone."""

from __future__ import annotations

import pytest

from transpile import Outcome, convert

LAYERS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Layer(nn.Linear):
    def learn(self, x):
        loss = self(x).pow(2).mean()
        loss.backward()
        return loss.item()


loader = DataLoader(TensorDataset(torch.randn(24, 6)), batch_size=12)
layers = {container}
for (x,) in loader:
    for layer in layers:
        {call}
"""


def test_a_call_that_cannot_be_followed_may_hide_the_training() -> None:
    kept = 'nn.ModuleDict({"a": Layer(6, 6)}).values()'
    script = LAYERS.format(container=kept, call="layer.learn(x)")
    found = convert(script)
    assert found.outcome is Outcome.REFUSED
    assert [finding.code for finding in found.findings] == ["DT021"]
    assert "layer.learn" in found.findings[0].message
    assert found.findings[0].line == 17


def test_what_a_list_of_layers_holds_is_followed_to_the_training() -> None:
    script = LAYERS.format(container="nn.ModuleList([Layer(6, 6)])", call="layer.learn(x)")
    found = convert(script)
    assert found.outcome is Outcome.REFUSED
    assert "DT021" not in {finding.code for finding in found.findings}
    assert "PT308" in {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    ("container", "call", "code"),
    [
        ("nn.ModuleList([Layer(6, 6)])", "print(layer(x))", "DT004"),
        ("nn.ModuleList([Layer(6, 6)])", "layer.train()", "DT004"),
        ("nn.ModuleList([nn.Linear(6, 6)])", "layer.learn(x)", "DT004"),
    ],
)
def test_a_script_that_does_not_train_is_left_alone(container: str, call: str, code: str) -> None:
    found = convert(LAYERS.format(container=container, call=call))
    assert found.outcome is Outcome.UNCHANGED
    assert [finding.code for finding in found.findings] == [code]


def test_what_a_list_holds_is_followed() -> None:
    found = convert(LAYERS.format(container="[Layer(6, 6)]", call="layer.learn(x)"))
    assert "DT021" not in [finding.code for finding in found.findings]


NAMED = """\
import argparse
import importlib

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="single")
args = parser.parse_args()
x, y = torch.randn(32, 4), torch.randint(0, 3, (32,))
model = importlib.import_module("models." + args.model).Net()
for i in range(0, 32, 8):
    {call}
"""


@pytest.mark.parametrize("call", ["model.observe(x[i : i + 8], y[i : i + 8])", "model.fit(x)"])
def test_what_comes_by_a_computed_name_may_train(call: str) -> None:
    found = convert(NAMED.format(call=call))
    assert found.outcome is Outcome.REFUSED
    assert [finding.code for finding in found.findings] == ["DT021"]


@pytest.mark.parametrize("call", ["model.train()", "print(model(x))", "out = model.embed(x)"])
def test_what_comes_by_a_computed_name_and_is_only_asked_does_not(call: str) -> None:
    found = convert(NAMED.format(call=call))
    assert [finding.code for finding in found.findings] == ["DT004"]
