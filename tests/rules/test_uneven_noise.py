"""Random changes of parameters and gradients would let the processes diverge."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Noisy(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])
                {own}


def reset(layer):
    if isinstance(layer, nn.Linear):
        layer.weight.data.normal_(0, 0.1)


data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
even = torch.Generator().manual_seed(1)
for fold in range(2):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    model.apply(reset)
    optimizer = {optimizer}(model.parameters(), lr=0.1)
    for epoch in range(3):
        {epoch}
        for x, y in DataLoader(data, batch_size=8):
            x.add_(torch.randn_like(x))
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            {step}
            optimizer.step()
"""
ALL = "for p in model.parameters():\n                {}"


def errors(
    own: str = "pass", optimizer: str = "torch.optim.SGD", epoch: str = "pass", step: str = "pass"
) -> list[str]:
    source = SCRIPT.format(own=own, optimizer=optimizer, epoch=epoch, step=step)
    return [each.code for each in convert(source).findings if each.level is Level.ERROR]


@pytest.mark.parametrize(
    "parts",
    [
        {"step": ALL.format("p.grad.add_(torch.randn_like(p))")},
        {"step": ALL.format("p.grad += 0.1 * torch.randn(p.shape)")},
        {"step": ALL.format("p.grad = p.grad + torch.randn_like(p)")},
        {"step": ALL.format("p.data.add_(torch.distributions.Normal(0, 1).sample(p.shape))")},
        {"step": "model[0].weight.data.uniform_(-1, 1)"},
        {"epoch": "for p in model.parameters():\n            p.data.mul_(torch.rand(1))"},
        {"own": "p.add_(torch.randn_like(p))", "optimizer": "Noisy"},
        {"step": ALL.format("p.grad /= 1 + len(torch.rand(8).nonzero())")},
        {"own": "p.data = p.data + torch.randn_like(p)", "optimizer": "Noisy"},
    ],
)
def test_noise_after_the_wrap_is_refused(parts: dict[str, str]) -> None:
    assert errors(**parts) == ["PT407"]


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"optimizer": "Noisy"},
        {"step": ALL.format("p.grad.clamp_(-1, 1)")},
        {"step": ALL.format("p.grad.add_(torch.randn(p.shape, generator=even))")},
        {"step": ALL.format("p.data.normal_(0, 1, generator=even)")},
    ],
)
def test_what_is_equal_everywhere_is_not(parts: dict[str, str]) -> None:
    assert errors(**parts) == []


def test_how_many_samples_a_draw_selects_is_chance() -> None:
    assert "PT407" in errors(step=ALL.format("p.grad /= 1 + x[torch.rand(len(x)) > 0.5].size(0)"))


@pytest.mark.parametrize("number", ["x.size(0)", "len(y)", "loss.item()", "x.abs().mean()"])
def test_samples_are_no_noise_whatever_they_are_made_of(number: str) -> None:
    """That they are those of a share is another matter, and told as such."""
    assert "PT407" not in errors(step=ALL.format(f"p.grad /= {number}"))


FOLDS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)

    def reset(self):
        {own}


def draw(layer):
    if isinstance(layer, nn.Linear):
        {layer}


def train(model, loader, optimizer):
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()


even = torch.Generator().manual_seed(1)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for fold in range(2):
    {fold}
    train(model, DataLoader(data, batch_size=8), optimizer)
{behind}
"""


def errors_of_folds(
    fold: str = "pass",
    own: str = "pass",
    layer: str = "nn.init.zeros_(layer.bias)",
    before: str = "",
    behind: str = "",
) -> list[str]:
    source = FOLDS.format(fold=fold, own=own, layer=layer, before=before, behind=behind)
    return [each.code for each in convert(source).findings if each.level is Level.ERROR]


OPTIMIZER = "\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    "
FRESH = "model = Net()" + OPTIMIZER


@pytest.mark.parametrize(
    "parts",
    [
        {"fold": "for p in model.parameters():\n        nn.init.uniform_(p, -1, 1)"},
        {"fold": "torch.nn.init.xavier_normal_(model.layer.weight)"},
        {"fold": "model.layer.reset_parameters()"},
        {"fold": "model.reset()", "own": "nn.init.normal_(self.layer.weight)"},
        {"fold": "model.reset()", "own": "self.layer.reset_parameters()"},
        {"fold": "model.apply(draw)", "layer": "nn.init.normal_(layer.weight)"},
        {"fold": "model.apply(draw)", "layer": "layer.reset_parameters()"},
        {"fold": "model.apply(draw)", "layer": "layer.weight.data.normal_()"},
        {
            "behind": "nn.init.normal_(model.layer.weight)\n"
            "train(model, DataLoader(data, batch_size=8), optimizer)"
        },
    ],
)
def test_a_wrapped_model_drawn_anew_is_refused(parts: dict[str, str]) -> None:
    assert errors_of_folds(**parts) == ["PT407"]


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"fold": "model.apply(draw)"},
        {"fold": "nn.init.constant_(model.layer.bias, 0.0)"},
        {"fold": "nn.init.normal_(model.layer.weight, generator=even)"},
        {"before": "model.apply(draw)", "layer": "nn.init.normal_(layer.weight)"},
        {"before": "model.layer.reset_parameters()"},
        {"fold": FRESH + "model.apply(draw)", "layer": "nn.init.normal_(layer.weight)"},
        {"fold": "model = Net()\n    model.layer.reset_parameters()" + OPTIMIZER},
    ],
)
def test_a_model_drawn_before_its_wrap_is_not(parts: dict[str, str]) -> None:
    assert errors_of_folds(**parts) == []
