"""Layers and parameters that come into a model after its wrap, however they get there."""

import pytest

from transpile import Options, convert

HEAD = """\
import copy
import lora
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x[:, :1].sin()
loader = DataLoader(TensorDataset(x, y), 8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(4, 4)])
        self.o = nn.Linear(4, 1)
        self.spare, self.last, self.used = None, None, 0
        {made}

    def forward(self, x):
        {forward}
        for layer in self.l:
            x = torch.tanh(layer(x))
        return self.o(x)

    def grow(self):
        {grow}


def swap(model):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, nn.Sequential(child, nn.Linear(child.out_features, 1)))


def widen(module):
    if isinstance(module, Net):
        module.o = nn.Linear(4, 1)


def reset(module):
    if isinstance(module, nn.Linear):
        module.seen = 0
        nn.init.zeros_(module.bias)


net = Net()
other = nn.Linear(4, 1)
{ahead}
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(3):
    for a, b in loader:
        loss = (net(a) - b).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {behind}
{end}
torch.save(net.state_dict(), "m.pt")
"""
AGAIN = """
net.grow()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for a, b in loader:
    loss = (net(a) - b).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def refused(**parts: str) -> bool:
    """Whether a part is told to come too late; anything else that is refused is an error here."""
    fields = dict.fromkeys(("made", "forward", "grow", "ahead", "behind", "end"), "pass")
    result = convert(HEAD.format(**{**fields, **parts}), Options(), path="train.py")
    errors = [each.code for each in result.findings if each.level.name == "ERROR"]
    assert set(errors) <= {"PT312"}
    return bool(errors)


@pytest.mark.parametrize(
    "parts",
    [
        {"behind": "swap(net)"},
        {"behind": "net.grow()", "grow": "self.l.append(nn.Linear(4, 4))"},
        {"behind": "net.grow()", "grow": "self.o = nn.Linear(4, 1)"},
        {"behind": "net.grow()", "grow": "setattr(self, 'o', nn.Linear(4, 1))"},
        {"behind": "net.grow()", "grow": "self.register_parameter('p', nn.Parameter(x[:1]))"},
        {"behind": "net.l[0] = nn.Linear(4, 4)"},
        {"behind": "net.l.extend([nn.Linear(4, 4)])"},
        {"behind": "net.o = other"},
        {"behind": "weight_norm(net.o)"},
        {"behind": "for child in net.l: nn.utils.weight_norm(child)"},
        {"forward": "self.spare = self.spare or nn.Linear(4, 4)"},
        {"forward": "self.register_module('spare', nn.Linear(4, 4))"},
        {"made": "self.l.append(nn.LazyLinear(4))"},
        {"behind": "net.grow()", "grow": "self.o = lora.Linear(4, 1, r=2)"},
        {"behind": "net.grow()", "grow": "self.o = lora.make(4)"},
        {"behind": "net.grow()", "grow": "self.o = lora.inject(self.o)"},
        {"end": AGAIN, "grow": "self.o = nn.Linear(4, 1)"},
        {"behind": "net.apply(widen)"},
        {"behind": "net.apply(lambda m: setattr(m, 'o', nn.Linear(4, 1)))"},
        {"behind": "vars(net)['_modules']['o'] = nn.Linear(4, 1)"},
        {"behind": "net.__dict__['_modules'].update(o=nn.Linear(4, 1))"},
        {"behind": "net.__dict__['o'] = nn.Linear(4, 1)"},
    ],
)
def test_what_comes_late_is_refused(parts: dict[str, str]) -> None:
    assert refused(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"ahead": "swap(net)"},
        {"made": "self.l.append(nn.LazyLinear(4))", "ahead": "net(x[:2])"},
        {"ahead": "net.grow()", "grow": "self.l.append(nn.Linear(4, 4))"},
        {"ahead": "weight_norm(net.o)"},
        {"made": "self.spare = nn.Linear(4, 4)", "forward": "self.last = self.o"},
        {"made": "self.register_buffer('seen', torch.zeros(1))", "forward": "self.used = 1"},
        {"behind": "net.grow()", "grow": "self.used = self.used + 1"},
        {"behind": "best = copy.deepcopy(net)"},
        {"behind": "kept = []; kept.append(nn.Linear(4, 4))"},
        {"ahead": "net.grow()", "grow": "self.o = lora.inject(self.o)"},
        {"forward": "self.last = lora.norms(x)"},
        {"forward": "self.last = lora.norms(self.o(x))"},
        {"end": "net.o = nn.Linear(4, 1)"},
        {"ahead": "net.apply(widen)"},
        {"behind": "net.apply(reset)"},
        {"behind": "vars(net)['seen'] = 0"},
        {"end": "nn.utils.remove_weight_norm(net.o)", "ahead": "nn.utils.weight_norm(net.o)"},
    ],
)
def test_what_is_there_in_time_is_not(parts: dict[str, str]) -> None:
    assert not refused(**parts)
