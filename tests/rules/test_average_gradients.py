"""Models that no variable holds for a wrap: their gradients are averaged by hand, or refused."""

from __future__ import annotations

from string import Template
from typing import Any

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result
from transpile.prelude import prelude_of

HEAD = """\
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.decode(self.encode(x))

    def encode(self, x):
        return torch.tanh(self.encoder(x))

    def decode(self, z):
        return self.decoder(z)

    def loss(self, x, y):
        return nn.functional.mse_loss(self(x), y)


class Learner(Net):
    def learn(self, x, y):
        self.optimizer.zero_grad()
        self.loss(x, y).backward()
        self.optimizer.step()


loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
nets = [Net() for i in range(2)]
optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
"""
LISTS = """\
for net, own in zip(nets, optimizers):
    own.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    {before}
    own.step()
"""
ALONE = """\
optimizer.zero_grad()
loss = {loss}
loss.backward()
{before}
optimizer.step()
"""


def result(steps: str) -> Result:
    text = HEAD + "".join(f"        {line}\n" for line in steps.splitlines())
    return convert(text)


def averaged(found: Result) -> list[tuple[str, str]]:
    """The places of the average, each with the line behind it."""
    lines = [line.strip() for line in found.text.splitlines()]
    calls = [i for i, line in enumerate(lines) if line.startswith("average_gradients(")]
    return [(lines[i], lines[i + 1]) for i in calls]


def errors(found: Result) -> set[str]:
    return {finding.code for finding in found.findings if finding.level is Level.ERROR}


@pytest.mark.parametrize(
    "before",
    [
        "nn.utils.clip_grad_norm_(net.parameters(), 1.0)",
        "norm = sum(p.grad.norm() for p in net.parameters())",
        "own.step()",
    ],
)
def test_gradients_are_averaged_before_anything_uses_them(before: str) -> None:
    found = result(LISTS.format(before=before))
    assert found.outcome is Outcome.CONVERTED
    assert averaged(found)[0] == ("average_gradients(own)", before)


@pytest.mark.parametrize(
    "loss",
    [
        "model.loss(x, y)",
        "nn.functional.mse_loss(model.decode(model.encode(x)), y)",
        "nn.functional.mse_loss(model.decoder(torch.tanh(model.encoder(x))), y)",
    ],
)
def test_methods_and_parts_of_a_model_may_train_it(loss: str) -> None:
    found = result(ALONE.format(loss=loss, before="pass"))
    assert found.outcome is Outcome.CONVERTED
    assert averaged(found) == [("average_gradients(optimizer)", "optimizer.step()")]
    assert "DistributedDataParallel(model" not in found.text


def test_a_model_may_train_itself() -> None:
    found = convert(
        HEAD.replace("model = Net()", "model = Learner()").replace(
            "optimizer = torch", "model.optimizer = torch"
        )
        + "        model.learn(x, y)\n"
    )
    assert averaged(found) == [("average_gradients(self.optimizer)", "self.optimizer.step()")]


def test_statements_of_one_line_are_told_apart() -> None:
    found = result("loss = model.loss(x, y); loss.backward(); optimizer.step()")
    assert averaged(found) == [("average_gradients(optimizer)", "optimizer.step()")]


def test_several_backward_passes_may_be_gathered() -> None:
    found = result("model.loss(x, y).backward()\nif epoch:\n    optimizer.step()")
    assert averaged(found) == [("average_gradients(optimizer)", "optimizer.step()")]


def test_what_has_a_variable_is_wrapped() -> None:
    found = result(ALONE.format(loss="nn.functional.mse_loss(model(x), y)", before="pass"))
    assert averaged(found) == []
    assert "model = DistributedDataParallel(model)" in found.text


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (
            "model.loss(x, y).backward()\nlast = model.encoder.weight.grad\nif last.sum() > 0:\n"
            "    optimizer.step()",
            "its gradients are read elsewhere",
        ),
        (
            "model = Net()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "model.loss(x, y).backward()\noptimizer.step()",
            "random numbers of its own",
        ),
        ("model.loss(x, y).backward()\n[o.step() for o in [optimizer]]", "in an expression"),
    ],
)
def test_what_cannot_be_averaged_is_refused(steps: str, why: str) -> None:
    found = result(steps)
    assert found.outcome is Outcome.REFUSED
    assert why in " ".join(finding.message for finding in found.findings)


def test_noise_on_gradients_that_each_process_draws_is_refused() -> None:
    before = "for p in net.parameters(): p.grad.add_(torch.randn_like(p))"
    assert "PT407" in errors(result(LISTS.format(before=before)))


def test_losses_in_methods_are_judged_as_elsewhere() -> None:
    text = HEAD.replace("nn.functional.mse_loss(self(x), y)", "(self(x) - y).pow(2).sum()")
    found = convert(text + "        model.loss(x, y).backward()\n        optimizer.step()\n")
    assert "(model.loss(x, y) * get_world_size()).backward()" in found.text


def test_a_conversion_is_known_for_one() -> None:
    found = result(LISTS.format(before="pass"))
    again = convert(found.text, Options(respect_distributed=False))
    assert again.text == found.text
    assert not errors(again)


def test_half_precision_is_divided_before_it_is_added() -> None:
    """Run with two processes that have the same gradients, on two kinds of parameters."""
    import torch

    code = Template(prelude_of("pytorch")["average_gradients"].code)
    names = ("torch", "average_gradients", "get_world_size", "reduce_sum", "Any", "Dict", "Tuple")
    space = {
        "torch": torch,
        "Any": Any,
        "Dict": dict,
        "Tuple": tuple,
        "get_world_size": lambda: 2,
        "reduce_sum": lambda tensor: tensor * 2,
    }
    exec(code.substitute({name: name for name in names}), space)
    half = torch.nn.Parameter(torch.zeros(3, dtype=torch.float16))
    whole, unused = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1))
    half.grad, whole.grad = torch.full((3,), 60000.0).half(), torch.ones(2)
    space["average_gradients"](torch.optim.SGD([half, whole, unused], lr=1.0))
    assert half.grad.tolist() == [60000.0] * 3
    assert whole.grad.tolist() == [1.0, 1.0]
    assert unused.grad is None
