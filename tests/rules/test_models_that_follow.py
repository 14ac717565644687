"""Models that a script sets from another one: targets, teachers and averages learn nothing."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile import convert as convert_on_any_way

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, x):
        return self.layer(x)


torch.manual_seed(0)
online = Net()
target = Net()
optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
data = TensorDataset(torch.randn(60, 6))
loader = DataLoader(data, batch_size=12, shuffle=True)
for (x,) in loader:
    with torch.no_grad():
        aim = target(x)
    loss = (online(x) - aim).pow(2).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for q, k in zip(online.parameters(), target.parameters()):
            {update}
torch.save(target.state_dict(), "target.pt")
"""
DETACHED = SCRIPT.replace(
    "    with torch.no_grad():\n        aim = target(x)", "    aim = target(x).detach()"
)


@pytest.mark.parametrize("source", [SCRIPT, DETACHED])
@pytest.mark.parametrize(
    "update",
    [
        "k.data = k.data * 0.9 + q.data * 0.1",
        "k.data.mul_(0.9).add_(q.data, alpha=0.1)",
        "k.copy_(0.9 * k + 0.1 * q)",
    ],
)
def test_a_target_is_not_taken_for_a_model_that_learns(source: str, update: str) -> None:
    result = convert(source.format(update=update))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "online = DistributedDataParallel(online)" in result.text
    assert "target = " in result.text and "Parallel(target)" not in result.text


def test_a_model_that_its_own_gradients_change_learns() -> None:
    """Nothing here would average them: it is not taken for one that follows."""
    source = SCRIPT.format(update="k.data = k.data - 0.1 * k.grad")
    source = source.replace("    with torch.no_grad():\n        aim", "    if True:\n        aim")
    result = convert(source)
    averaged = "DistributedDataParallel(target)" in result.text
    assert averaged or result.outcome is Outcome.REFUSED


OWN_STEPS = """\
import random

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def forward(self, x):
        return self.layer(x)

    def learn(self, x, aim):
        loss = nn.functional.mse_loss(self.forward(x), aim)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


torch.manual_seed(0)
random.seed(0)
memory = [torch.randn(3) for _ in range(64)]
net, target = Net(), Net()
target.load_state_dict(net.state_dict())
for i in range(20):
    x = torch.stack(random.sample(memory, 8))
    {aim}
    net.learn(x, aim)
    for p, q in zip(target.parameters(), net.parameters()):
        p.data.copy_(0.9 * p.data + 0.1 * q.data)
torch.save(net.state_dict(), "net.pt")
"""


@pytest.mark.parametrize(
    "aim",
    [
        "with torch.no_grad():\n        aim = x.sum(1, keepdim=True) + 0.9 * target(x)",
        "aim = x.sum(1, keepdim=True) + 0.9 * target(x).detach()",
        "aim = (x.sum(1, keepdim=True) + 0.9 * target(x)).detach()",
    ],
)
def test_a_target_learns_nothing_though_its_class_makes_an_optimizer_for_it(aim: str) -> None:
    result = convert(OWN_STEPS.format(aim=aim))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "        average_gradients(self.optimizer)\n" in result.text
    assert "DistributedDataParallel(target)" not in result.text


@pytest.mark.parametrize(
    "aim",
    [
        "aim = x.sum(1, keepdim=True) + 0.9 * target(x)",
        "with torch.no_grad():\n        pass\n    aim = 0.9 * target(x)",
        "with torch.no_grad(), torch.enable_grad():\n        aim = 0.9 * target(x)",
        "with torch.set_grad_enabled(i > 3):\n        aim = 0.9 * target(x)",
        "aim = 0.9 * target(x)\n    if i < 3:\n        aim = aim.detach()",
    ],
)
def test_a_model_that_gradients_may_come_to_is_not_taken_for_a_target(aim: str) -> None:
    result = convert(OWN_STEPS.format(aim=aim))
    assert "target = DistributedDataParallel(target)" in result.text


def test_a_model_learns_where_only_some_of_its_calls_give_gradients() -> None:
    """A look at it without gradients, outside of the method that trains it, decides nothing."""
    aim = "with torch.no_grad():\n        aim = x.sum(1, keepdim=True) + 0.1 * net(x)"
    result = convert(OWN_STEPS.format(aim=aim))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "        average_gradients(self.optimizer)\n" in result.text


@pytest.mark.parametrize(
    "together",
    [
        "torch.stack(random.sample(memory, 8))",
        "torch.stack(random.sample(memory, 8), dim=1).t()",
        "torch.stack([torch.stack(random.sample(memory, 8))] * 2).sum(0)",
    ],
)
def test_a_list_of_samples_counts_them_along_what_it_is_stacked_along(together: str) -> None:
    """Not in each of its elements, as a stack of whole batches does."""
    source = OWN_STEPS.replace("torch.stack(random.sample(memory, 8))", together)
    source = source.format(aim="aim = x.sum(1, keepdim=True)")
    result = convert_on_any_way(source, Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "@split_method(SplitMethod)\n" in result.text
