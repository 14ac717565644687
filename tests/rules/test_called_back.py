"""Code that the framework calls while it trains: what it reads by then decides for the model."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
state = {"seen": 0, "epoch": 0}


class Progress:
    def __init__(self):
        self.hits = 0

    def factor(self, _):
        return 1.0 / (1 + self.hits / 10)

    @property
    def part(self):
        return self.hits / 64


class Counting(LRScheduler):
    def __init__(self, optimizer):
        self.done = 0
        super().__init__(optimizer)

    def get_lr(self):
        part = self.done / 64
        return [base * (1 - 0.5 * part) for base in self.base_lrs]


class Scale(nn.Module):
    def forward(self, weight):
        return weight * (1 + state["seen"])


def scaled(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad.mul_(1.5 - state["seen"])


progress = Progress()
%s
for epoch in range(2):
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=16):
        out = net(xb)
        loss = F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        %s
    state["epoch"] += 1
    print(epoch)
"""
SCHEDULED = 'sched = LambdaLR(opt, lambda _: 1.0 - 0.5 * state["seen"])'
BY_SHARES = {
    "count": (SCHEDULED, 'state["seen"] += len(xb); sched.step()'),
    "loss": (SCHEDULED, 'state["seen"] = loss.item(); sched.step()'),
    "several": (
        'sched = LambdaLR(opt, [lambda _: 1.0 - 0.5 * state["seen"]])',
        'state["seen"] = loss.item(); sched.step()',
    ),
    "method": (
        "sched = LambdaLR(opt, progress.factor)",
        "progress.hits += (out.argmax(1) == yb).sum().item(); sched.step()",
    ),
    "own scheduler": ("sched = Counting(opt)", "sched.done += len(xb); sched.step()"),
    "step hook": (
        "opt.register_step_pre_hook(scaled)",
        'state["seen"] = (out.argmax(1) == yb).double().mean().item()',
    ),
    "hook of all optimizers": (
        "torch.optim.optimizer.register_optimizer_step_pre_hook(scaled)",
        'state["seen"] = loss.item()',
    ),
    "parametrization": (
        'parametrize.register_parametrization(net, "weight", Scale())',
        'state["seen"] = loss.item()',
    ),
    "property": (
        "sched = LambdaLR(opt, lambda _: 1.2 - progress.part)",
        "progress.hits += (out.argmax(1) == yb).sum().item(); sched.step()",
    ),
    "method called": (
        "sched = LambdaLR(opt, lambda _: 1.2 - progress.factor(0))",
        "progress.hits += (out.argmax(1) == yb).sum().item(); sched.step()",
    ),
    "layer": ("drop = nn.Dropout(0.1)", "drop.p = 0.1 * loss.item()"),
    "in place": ("", "torch._foreach_mul_([p.data for p in net.parameters()], 1 - loss.item())"),
    "initialised": ("", "nn.init.constant_(net.bias, loss.item())"),
    "vector": (
        "flat = nn.utils.parameters_to_vector(net.parameters()).detach()",
        "nn.utils.vector_to_parameters(flat * loss.item(), net.parameters())",
    ),
    "gradient hook": (
        'net.weight.register_hook(lambda g: g * state["seen"])',
        'state["seen"] = loss.item()',
    ),
}
EQUAL = {
    "epochs": ('sched = LambdaLR(opt, lambda _: 0.9 ** state["epoch"])', "sched.step()"),
    "steps": ("sched = LambdaLR(opt, lambda k: 0.9 ** k)", "sched.step()"),
    "rounds": (SCHEDULED, 'state["seen"] += 0.01; sched.step()'),
    "another key": (
        'sched = LambdaLR(opt, lambda _: 0.9 ** state["epoch"])',
        'state["seen"] += len(xb); sched.step()',
    ),
    "layer": ("drop = nn.Dropout(0.1)", "drop.p = 0.1 * epoch"),
    "in place": ("", "torch._foreach_mul_([p.data for p in net.parameters()], 0.99)"),
    "factor": ("net.weight.register_hook(lambda g: g * 0.5)", "pass"),
}


@pytest.mark.parametrize("case", BY_SHARES)
def test_numbers_of_a_share_are_told_of_and_exact_by_calls(case: str) -> None:
    script = HEAD % BY_SHARES[case]
    refused = convert(script, Options(shard="data"))
    assert refused.outcome is Outcome.REFUSED
    assert {finding.code for finding in refused.findings if finding.level == 2} == {"PT712"}
    chosen = convert(script)
    assert chosen.outcome is Outcome.CONVERTED
    assert "DT015" in {finding.code for finding in chosen.findings}


@pytest.mark.parametrize("case", EQUAL)
def test_numbers_that_all_processes_have_are_left_alone(case: str) -> None:
    result = convert(HEAD % EQUAL[case])
    assert result.outcome is Outcome.CONVERTED
    assert not {"PT712", "DT015"} & {finding.code for finding in result.findings}


def test_tables_that_functions_of_layers_give_are_no_layers() -> None:
    parts = ("table = F.normalize(torch.ones(4, 2))", "table[0] = out[0].detach()")
    found = convert(HEAD % parts, Options(shard="data")).findings
    assert not any("layer is set" in finding.message for finding in found)


MICRO_STEPS = """\
import somelib
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def size(model):
    return sum((p.grad ** 2).sum() for p in model.parameters()).item()


def named(model):
    return max(getattr(p, "grad").abs().max().item() for p in model.parameters())


class Clipper:
    def __call__(self, parameters):
        for p in parameters:
            p.grad.clamp_(-1, 1)


clip = Clipper()
torch.manual_seed(0)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
clipper, holder = somelib.Clipper(), somelib.Clipper(net)
data = TensorDataset(torch.randn(96, 6), torch.randn(96, 1))
for i, (x, y) in enumerate(DataLoader(data, batch_size=12)):
    loss = F.mse_loss(net(x), y) / 2
    loss.backward()
    %s
    if (i + 1) %% 2 == 0:
        %s
        opt.step()
        opt.zero_grad()
"""


@pytest.mark.parametrize(
    "between",
    [
        "print(size(net))",
        "print(named(net))",
        "clip(net.parameters())",
        "somelib.clip(net)",
        "clipper.clip(net.parameters())",
        "holder.clip()",
    ],
)
def test_functions_that_read_gradients_between_steps_see_those_of_all(between: str) -> None:
    result = convert(MICRO_STEPS % (between, "pass"))
    assert result.outcome is Outcome.CONVERTED
    assert "gradients_synchronised" not in result.text
    assert "PT322" in {finding.code for finding in result.findings}


@pytest.mark.parametrize("stepping", ["print(size(net))", "clip(net.parameters())"])
def test_functions_that_read_gradients_before_the_step_need_no_more(stepping: str) -> None:
    result = convert(MICRO_STEPS % ("pass", stepping))
    assert result.outcome is Outcome.CONVERTED
    assert "gradients_synchronised" in result.text


ADAPTIVE = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.criterion = nn.AdaptiveLogSoftmaxWithLoss(12, 40, cutoffs=[10, 30])

    def forward(self, words, targets):
        return self.criterion(self.embed(words), targets).loss


torch.manual_seed(0)
words = torch.randint(0, 40, (64,))
model = Model()
opt = torch.optim.SGD(model.parameters(), 0.1)
for a, b in DataLoader(TensorDataset(words, words // 2), batch_size=8):
    loss = model(a, b)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_clusters_that_no_target_asks_for_are_looked_for() -> None:
    assert "find_unused_parameters=True" in convert(ADAPTIVE).text
