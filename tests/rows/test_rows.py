"""Which small models keep their samples apart, along which axes, and what mixes them."""

from __future__ import annotations

import copy
import random

import pytest
from row_attacks import ATTACKS
from row_models import APART, CHECK, COUPLED, Small

from transpile import convert
from transpile.facts.interpreter import interpret
from transpile.finding import Level
from transpile.options import Options
from transpile.plan.roles.build import build_plan
from transpile.project import Project
from transpile.rows.domain import NONE, Choice, Coupled, Dim, Factor, Tensor, choice
from transpile.rules.pytorch import TABLE
from transpile.rules.pytorch.models._split.rows import CallRows, rows_of
from transpile.text.source import read_source

DEFINITIONS = """\
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.checkpoint


def twice(h):
    return h * 2


def centred(h):
    mean = h.mean(0)
    return h - mean


class Centred(nn.Module):
    def forward(self, h):
        return h - h.mean(dim=0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, h):
        return h + F.relu(self.fc(h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{made}

    def scaled(self, h, by):
        return h * by

    def forward(self, x):
{forward}
"""
SCRIPT = """\
import lib
from torch.utils.data import DataLoader, TensorDataset


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return g


def measure(out, y):
    if isinstance(out, tuple):
        return sum(one.mean() for one in out)
    return F.mse_loss(out, y)


dataset = lib.load()
loader = DataLoader(dataset, batch_size=6)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = measure(model(x), y)
    loss.backward()
    optimizer.step()
"""


def indented(text: str, by: int) -> str:
    """A text, some spaces further to the right."""
    return "\n".join(" " * by + line for line in (text or "pass").split("\n"))


def definitions(small: Small) -> str:
    """The classes of a small model."""
    return DEFINITIONS.format(made=indented(small.made, 8), forward=indented(small.forward, 8))


def rows(text: str) -> CallRows:
    """What the solver says of the one model of a script."""
    project = Project(read_source(text.encode(), "train.py"), None)
    facts = interpret(project.entry, TABLE.dialect, project.find)
    plan = build_plan(facts, TABLE, Options())
    (model,) = plan.trained_models
    return rows_of(plan, model)


@pytest.mark.parametrize("small", APART, ids=lambda small: small.name)
def test_apart(small: Small) -> None:
    """Samples that stay apart are seen to, with their axes."""
    found = rows(definitions(small) + SCRIPT)
    assert (found.verdict, found.reason) == ("apart", "")
    assert (found.inputs, found.outputs) == ((0,), 0)


@pytest.mark.parametrize(("small", "word"), COUPLED, ids=[one.name for one, _ in COUPLED])
def test_coupled(small: Small, word: str) -> None:
    """Samples that are mixed are never taken to be apart, and what mixes them is named."""
    found = rows(definitions(small) + SCRIPT)
    assert found.verdict != "apart"
    assert word in found.reason.lower()


@pytest.mark.parametrize(("small", "word"), CHECK, ids=[one.name for one, _ in CHECK])
def test_check(small: Small, word: str) -> None:
    """What cannot be analysed is named."""
    found = rows(definitions(small) + SCRIPT)
    assert found.verdict == "check"
    assert word in found.reason.lower()


@pytest.mark.parametrize("small", ATTACKS, ids=lambda small: small.name)
def test_attacks(small: Small) -> None:
    """However samples are mixed, they are never taken to be apart."""
    assert rows(definitions(small) + SCRIPT).verdict != "apart"


def test_what_meets_a_coupled_value_is_coupled() -> None:
    coupled = Coupled("'mean' is taken over the samples of the batch")
    assert choice(NONE, coupled) is coupled
    assert choice(Choice((NONE, Tensor())), coupled) is coupled


def test_tensors_with_their_samples_along_other_axes_stay_two() -> None:
    samples, features = Dim(Factor(6), True), Dim(Factor(5))
    rows_first = Tensor((samples, features))
    rows_last = Tensor((features, samples))
    assert isinstance(choice(rows_first, rows_last), Choice)
    assert choice(rows_first, Tensor((samples, Dim(Factor(7))))) == Tensor((samples, Dim(None)))


KNOWN = (
    SCRIPT.replace(
        "dataset = lib.load()",
        "dataset = TensorDataset(torch.randn(60, 5), torch.randn(60, 3))",
    )
    .replace("import lib\n", "")
    .replace("measure(model(x), y)", "model(x).square().mean()")
    .replace("Net()", 'Net().to("cuda" if torch.cuda.is_available() else "cpu")')
)
#: What mixes their samples depends on the shape of the inputs, which these scripts do not tell, or
#: is chance alone.
UNSEEN = {
    "softmax of samples from behind",
    "order of samples",
    "places of samples",
    "row of several samples",
    "one draw for all",
    "one draw beside all",
    "one draw of a law for all",
    "layer dropped at random",
    "chosen samples",
}


def warned(small: Small) -> bool:
    """Whether the conversion of a training script says that something may be wrong."""
    result = convert((definitions(small) + KNOWN).encode(), Options(shard="data"))
    return any(finding.level is not Level.NOTE for finding in result.findings)


@pytest.mark.parametrize(
    "small", [s for s, _ in COUPLED if s.name not in UNSEEN], ids=lambda small: small.name
)
def test_coupled_models_do_not_convert_clean(small: Small) -> None:
    """A model that mixes its samples is warned of where each process has a share of them."""
    assert warned(small)


@pytest.mark.parametrize("small", APART, ids=lambda small: small.name)
def test_models_that_keep_samples_apart_convert_clean(small: Small) -> None:
    """Nothing is said of a model that keeps them apart."""
    assert not warned(small)


def differs(small: Small) -> bool:
    """Whether a model gives another result for two parts of a batch than for the whole."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    names: dict[str, object] = {}
    exec(definitions(small), names)
    torch.manual_seed(1)
    random.seed(1)
    model = names["Net"]().double().eval()  # type: ignore[operator]
    x = torch.randn(small.shape, dtype=torch.float64)
    torch.set_default_dtype(torch.float64)
    try:
        whole = copy.deepcopy(model)(x)
        parts = [copy.deepcopy(model)(part) for part in x.split([4, 2])]
        together = torch.cat(parts) if parts[0].dim() else torch.stack(parts).mean(0)
        return not (together.shape == whole.shape and torch.allclose(together, whole, atol=1e-10))
    except (RuntimeError, ValueError, IndexError):
        return True
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("small", [s for s in APART if s.runs], ids=lambda small: small.name)
def test_numbers_of_apart(small: Small) -> None:
    """What is said to be apart is: the rows of two parts are those of the whole."""
    assert not differs(small)


RUNNING = [small for small, _ in COUPLED if small.runs]


@pytest.mark.parametrize("small", RUNNING, ids=lambda small: small.name)
def test_numbers_of_coupled(small: Small) -> None:
    """What is said to be coupled is: the rows of two parts are other ones."""
    assert differs(small)
