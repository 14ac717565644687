"""Gradients that are averaged by hand need the same order of parameters in all processes."""

from __future__ import annotations

import pytest

from transpile import Outcome, Result, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Head(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.out = body, nn.{layer}

    def score(self, x):
        return self.out(torch.relu(self.body(x)))


data = TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
body = nn.Linear(4, 6)
one, other = Head(body), Head(body)
optimizer = torch.optim.SGD({held}, lr=0.1)
for x, y in DataLoader(data, batch_size=12):
    loss = ((one.score(x) + other.score(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def converted(held: str, layer: str = "Linear(6, 1)") -> Result:
    return convert(SCRIPT.format(held=held, layer=layer), path="train.py")


@pytest.mark.parametrize(
    "held",
    [
        "list(set(one.parameters()) | set(other.parameters()))",
        "{*one.parameters(), *other.parameters()}",
    ],
)
def test_a_set_has_another_order_in_every_process(held: str) -> None:
    result = converted(held)
    assert result.outcome is Outcome.REFUSED
    assert any("go through a set" in finding.message for finding in result.findings)


def test_a_dict_keeps_the_order() -> None:
    held = "list(dict.fromkeys([*one.parameters(), *other.parameters()]))"
    assert "average_gradients(optimizer)" in converted(held).text


def test_sparse_gradients_are_not_averaged_by_hand() -> None:
    result = converted("[*one.parameters(), *other.parameters()]", "Embedding(6, 1, sparse=True)")
    assert any("sparse gradients" in finding.message for finding in result.findings)


HEADS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, names):
        super().__init__()
        {made}

    def forward(self, x):
        return sum(head(x) for head in self.heads.values())


names = {names}
model = Net(names)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=12):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("names", ['{"a", "b"}', 'set("ab")', "{name for name in 'ab'}"])
@pytest.mark.parametrize(
    "made",
    [
        "self.heads = nn.ModuleDict({n: nn.Linear(4, 1) for n in names})",
        "self.heads = nn.ModuleDict()\n        for n in names:\n"
        "            self.heads[n] = nn.Linear(4, 1)",
    ],
)
def test_layers_are_made_in_one_order(names: str, made: str) -> None:
    assert "in sorted(names)" in convert(HEADS.format(names=names, made=made), path="t.py").text


def test_what_is_no_layer_has_no_order_in_a_dict() -> None:
    made = "self.heads = nn.ModuleDict({'a': nn.Linear(4, 1)})\n        "
    made += "self.lengths = {n: len(n) for n in names}"
    assert "sorted(" not in convert(HEADS.format(names='{"a", "b"}', made=made), path="t.py").text
