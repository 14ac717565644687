"""Models that objects with named parts hold are found there, and trained as by one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import Finding, Level, Options, Outcome, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import argparse
import dataclasses
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)


def make():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


{made}


def train(s):
    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(s.model(x), y)
            s.optimizer.zero_grad()
            loss.backward()
            s.optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))


s = build()
train(s)
torch.save(s.model.state_dict(), "model.pt")
"""
PAIR = """\
State = namedtuple("State", {fields})


def build():
    model = make()
    return State({given})
"""
TYPED = """\
class State(NamedTuple):
    model: nn.Module
    optimizer: Any = None

    def names(self):
        return list(self.model.state_dict())


def build():
    model = make()
    return State(model){changed}
"""
DATA = """\
@dataclass{frozen}
class State:
    rate: float = 0.1
    model: nn.Module = {model}
    optimizer: Any = None


def build():
    s = State()
    return dataclasses.replace(s, optimizer=sgd(s.model))
"""
AFTERWARDS = """\
@dataclass
class State:
    rate: dataclasses.InitVar[float]
    model: nn.Module = field(init=False)

    def __post_init__(self, rate):
        self.model = make()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)


def build():
    return State(0.1)
"""
SPACE = """\
def build():
    model = make()
    return SimpleNamespace(model=model, optimizer=sgd(model))
"""
FILLED = """\
def build():
    s = SimpleNamespace()
    setattr(s, "model", make())
    s.optimizer = sgd(s.model)
    return s
"""
WAYS_TO_HOLD = {
    "named tuple": PAIR.format(fields='["model", "optimizer"]', given="model, sgd(model)"),
    "named in one text": PAIR.format(
        fields='"optimizer model"', given="model=model, optimizer=sgd(model)"
    ),
    "with defaults": PAIR.format(
        fields='("model", "optimizer", "step"), defaults=[0]', given="model, sgd(model)"
    ),
    "changed tuple": PAIR.format(
        fields='"model, optimizer"', given="model, None)._replace(optimizer=sgd(model)"
    ),
    "typed tuple": TYPED.format(changed="._replace(optimizer=sgd(model))"),
    "factory": DATA.format(frozen="(frozen=True)", model="field(default_factory=make)"),
    "afterwards": AFTERWARDS,
    "namespace": SPACE,
    "filled namespace": FILLED,
}


def findings(made: str) -> tuple[Outcome, list[Finding]]:
    """What comes of the script, and what is said of it beyond notes."""
    result = convert(SCRIPT.format(made=made))
    return result.outcome, [one for one in result.findings if one.level is not Level.NOTE]


@pytest.mark.parametrize("made", WAYS_TO_HOLD.values(), ids=WAYS_TO_HOLD)
def test_it_is_found(made: str) -> None:
    assert findings(made) == (Outcome.CONVERTED, [])


@pytest.mark.parametrize("name", ["changed tuple", "factory", "namespace"])
def test_it_is_trained_as_by_one_process(name: str, tmp_path: Path, auditor: Auditor) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT.format(made=WAYS_TO_HOLD[name]), "utf-8")
    output.write_bytes(convert(original.read_text("utf-8")).data)
    report = auditor.audit(original, output, world_sizes=(1, 2), tolerance=1e-9, timeout_seconds=90)
    assert report.passed, format_report(report)


@pytest.mark.parametrize(
    "made",
    [
        # How many fields there are, and which of them is the model, is not written here.
        PAIR.format(fields="open('fields.txt').read()", given="model, sgd(model)"),
        PAIR.format(fields='["model", "optimizer"]', given="*parts(model)"),
    ],
    ids=["unknown fields", "unknown parts"],
)
def test_what_is_not_written_is_not_believed(made: str) -> None:
    outcome, _ = findings("from elsewhere import parts\n" + made)
    assert outcome is Outcome.REFUSED


OUTPUTS = """\
from collections import namedtuple
from typing import NamedTuple

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
{kind}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 2)

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        return Out(hidden=hidden.t(), scores={scores})


x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        out = model(x)
        loss = nn.functional.cross_entropy(out.scores, y) + 0.1 * out[1].pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
"""
KINDS = {
    "made": 'Out = namedtuple("Out", ["scores", "hidden"])',
    "typed": "class Out(NamedTuple):\n    scores: torch.Tensor\n    hidden: torch.Tensor",
}
APART = "self.last(hidden)"


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_with_names_have_rows(kind: str, tmp_path: Path, auditor: Auditor) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(OUTPUTS.format(kind=KINDS[kind], scores=APART), "utf-8")
    result = convert(original.read_text("utf-8"), Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED
    assert all(one.level is Level.NOTE for one in result.findings), result.findings
    assert "SplitCalls(model, outputs=(0, 1))" in result.text
    output.write_bytes(result.data)
    report = auditor.audit(original, output, world_sizes=(1, 2), tolerance=1e-9, timeout_seconds=90)
    assert report.passed, format_report(report)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_with_names_that_mix_rows_have_none(kind: str) -> None:
    mixed = "self.last(hidden - hidden.mean(0))"
    result = convert(OUTPUTS.format(kind=KINDS[kind], scores=mixed), Options(shard="calls"))
    told = {one.code for one in result.findings} & {"PT352", "PT354"}
    assert told, result.findings
