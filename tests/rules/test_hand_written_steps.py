"""Steps that a script writes out itself, and models that pick the samples of each other."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
loader = DataLoader(data, batch_size=8)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
"""
STEPS = """
params = list(model.parameters())
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    {step}
"""
TWO = """
other = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
for x, y in loader:
    one = F.cross_entropy(model(x), y, reduction="none")
    two = F.cross_entropy(other(x), y, reduction="none")
    {pick}
    optimizer.zero_grad()
    a.backward()
    optimizer.step()
    second.zero_grad()
    b.backward()
    second.step()
"""


@pytest.mark.parametrize(
    "step",
    [
        "with torch.no_grad():\n        for p in params:\n            p -= 0.1 * p.grad",
        "with torch.no_grad():\n        for p in params:\n            p.sub_(0.1 * p.grad)",
        "for p in model.parameters():\n        p.data -= 0.1 * p.grad.data",
        "for p in model.parameters():\n        p.data = p.data - 0.1 * p.grad",
        "[p.data.add_(p.grad, alpha=-0.1) for _, p in model.named_parameters()]",
        "for layer in (model[0], model[2]):\n        layer.bias.data -= 0.1 * layer.bias.grad",
    ],
)
def test_layers_of_a_library_learn_by_hand_written_steps(step: str) -> None:
    result = convert((HEAD + STEPS.format(step=step)).encode())
    assert result.outcome is Outcome.CONVERTED
    assert "model = DistributedDataParallel(model)" in result.text


def test_what_is_set_without_a_gradient_learns_nothing() -> None:
    step = "model[0].weight.data = model[0].weight.data - 0.1 * x.mean()"
    result = convert((HEAD + STEPS.format(step=step)).encode())
    assert "PT308" in {found.code for found in result.findings}


@pytest.mark.parametrize(
    "pick",
    [
        "a = one[two.argsort()[:6]].mean()\n    b = two[one.argsort()[:6]].mean()",
        "a = one[two.topk(6)[1]].mean()\n    b = two[one.topk(6).indices].mean()",
        "_, low = torch.sort(two)\n    a = one[low[:6]].mean()\n    b = two.mean()",
        "a = (one * (two < two.median())).mean()\n    b = two.mean()",
    ],
)
def test_no_gradient_flows_through_places(pick: str) -> None:
    result = convert((HEAD + TWO.format(pick=pick)).encode())
    assert result.outcome is Outcome.CONVERTED
    assert "SplitCalls(" in result.text
    assert "model = SplitCalls(model)" in result.text and "SplitCalls(other)" in result.text


def test_gradients_flow_through_the_values_of_a_choice() -> None:
    pick = "a = (one * two.topk(8)[0]).mean()\n    b = two.max() * two.topk(6)[0][0]"
    result = convert((HEAD + TWO.format(pick=pick)).encode())
    assert "SplitCalls(other)" not in result.text


SCALED = """
class Clipped:
    def __init__(self, params):
        self.params = list(params)
        self.optimizer = torch.optim.SGD(self.params, lr=0.1)

    def step(self, factor):
        for p in self.params:
            {change}
        self.optimizer.step()


nets = [nn.Linear(4, 2) for _ in range(2)]
optimizers = [Clipped(net.parameters()) for net in nets]
for x, y in loader:
    for net, own in zip(nets, optimizers):
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        own.step({factor})
"""
SCALES = [
    "p.grad.data.mul_(factor)",
    "p.grad.mul_(factor)",
    "p.grad /= factor",
    "p.grad = p.grad * factor",
    "p.grad.clamp_(-factor, factor)",
]


@pytest.mark.parametrize("change", SCALES)
def test_gradients_are_averaged_before_they_are_scaled(change: str) -> None:
    """What scales them changes no parameter, and scales the same on all processes."""
    result = convert((HEAD + SCALED.format(change=change, factor="0.5")).encode())
    assert result.outcome is Outcome.CONVERTED, result.findings
    text = result.text
    assert text.index("average_gradients(self.optimizer)") < text.index("for p in self.params")


@pytest.mark.parametrize("change", SCALES[:-1])
@pytest.mark.parametrize("factor", ["len(x)", "x.abs().max()"])
def test_gradients_are_not_scaled_by_a_number_of_a_share(change: str, factor: str) -> None:
    source = (HEAD + SCALED.format(change=change, factor=factor)).encode()
    result = convert(source, Options(shard="data"))
    assert result.outcome is Outcome.REFUSED
    assert "PT712" in {each.code for each in result.findings}


@pytest.mark.parametrize("change", ["p.data.mul_(factor)", "p.data.add_(-factor * p.grad)"])
def test_parameters_that_are_changed_are_not_averaged_by_hand(change: str) -> None:
    result = convert((HEAD + SCALED.format(change=change, factor="0.5")).encode())
    assert result.outcome is Outcome.REFUSED
    assert "the script changes its parameters itself" in str(result.findings)
