"""Batch norm is synchronised wherever a model may have it."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import convert as convert_on_any_way
from transpile.finding import Level
from transpile.options import Options

SCRIPT = """\
import networks
import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, name, width):
        super().__init__()
        self.width = int(width)
        self.body = {body}
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x))


loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
NET = 'Net("a", 3)'


def synchronised(body: str, model: str = NET) -> bool:
    """Whether the output of a script with that model takes its statistics over all processes."""
    return "convert_sync_batchnorm" in convert(SCRIPT.format(body=body, model=model).encode()).text


@pytest.mark.parametrize(
    "body",
    [
        "nn.BatchNorm1d(3)",
        "torchvision.models.resnet18()",
        "torchvision.models.__dict__[name]()",
        "nn.Sequential(*list(torchvision.models.resnet18().children())[:-1])",
        'torch.hub.load("repository", name)',
    ],
)
def test_parts_that_may_have_batch_norm(body: str) -> None:
    assert synchronised(body)


def test_a_model_that_nothing_is_known_of() -> None:
    assert synchronised("nn.Linear(3, 4)", 'networks.__dict__["x"](3)')


@pytest.mark.parametrize(
    "body", ["nn.Linear(3, 4)", "nn.Sequential(nn.Linear(self.width, 4), nn.ReLU())"]
)
def test_parts_that_have_none(body: str) -> None:
    assert not synchronised(body)


def remarks(body: str, device: str = "", **options: str) -> list[Level]:
    """The levels of what is said of batch norm that is not synchronised."""
    text = SCRIPT.format(body=body, model=NET + device).replace("import networks\n", "")
    result = convert(text.encode(), Options(**options))  # type: ignore[arg-type]
    return [finding.level for finding in result.findings if finding.code == "PT307"]


def test_models_that_stay_on_the_cpu() -> None:
    """PyTorch has no synchronised batch norm there, so that shares have statistics of their own."""
    assert remarks("nn.BatchNorm1d(3)") == [Level.WARNING]
    assert remarks("torchvision.models.__dict__[name]()") == [Level.NOTE]
    assert remarks("nn.Linear(3, 4)") == []


def test_models_that_may_go_to_a_gpu() -> None:
    device = '.to("cuda" if torch.cuda.is_available() else "cpu")'
    assert remarks("nn.BatchNorm1d(3)", device) == [Level.NOTE]
    assert remarks("nn.BatchNorm1d(3)", ".cuda()") == []
    assert remarks("nn.Linear(3, 4)", device) == []


def test_batches_of_each_process_are_those_of_the_script() -> None:
    """With the script's own batch on each process its statistics are of as many samples."""
    assert remarks("nn.BatchNorm1d(3)", batch_size="per-device") == []


@pytest.mark.parametrize(
    ("model", "level"),
    [
        (NET, Level.WARNING),
        (f"{NET}.to('cuda' if os.environ.get('GPU') else 'cpu')", Level.NOTE),
        (f"{NET}.to(os.environ['PLACE'])", Level.NOTE),
        (f"{NET}.cuda()", None),
        (f"{NET}.to('cuda' if torch.cuda.is_available() else 'cpu')", Level.NOTE),
    ],
)
def test_models_that_may_stay_on_the_cpu_are_told(model: str, level: Level | None) -> None:
    text = SCRIPT.format(body="nn.BatchNorm1d(3)", model=model).replace(
        "import networks", "import os"
    )
    told = [f.level for f in convert(text.encode()).findings if f.code == "PT307"]
    assert told == ([] if level is None else [level])


def test_a_wrap_synchronises_batch_norm_of_all_models_that_it_may_hold() -> None:
    text = """\
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="b")
args = parser.parse_args()
torch.manual_seed(0)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        self.found = None

    def forward(self, x):
        self.found = self.layer(x)
        return self.found

    def loss(self, x):
        return self.forward(x).pow(2).mean()


models = {"a": Plain, "b": Normed}
model = models[args.model]()
model.to("cuda" if torch.cuda.is_available() else "cpu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8):
    optimizer.zero_grad()
    loss = model.loss(x) if args.model == "b" else model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    result = convert_on_any_way(text, path="train.py")
    assert "model = synchronise_norms(model)" in result.text


@pytest.mark.parametrize(
    ("body", "levels"),
    [
        ("nn.BatchNorm1d(3)", [Level.NOTE]),
        ("{'a': torchvision.models.resnet18()}[name]", [Level.NOTE]),
        ("nn.Linear(3, 4)", []),
    ],
)
def test_models_that_an_argument_may_leave_on_the_cpu(body: str, levels: list[Level]) -> None:
    text = SCRIPT.format(body=body, model=f"{NET}.to(sys.argv[1])")
    found = convert(text.replace("import networks", "import sys").encode()).findings
    assert [finding.level for finding in found if finding.code == "PT307"] == levels


def test_where_every_process_computes_all_rows_statistics_are_those_of_one_process() -> None:
    """Synchronised, each row would count as often as there are processes."""
    whole = SCRIPT.replace("import networks\n", "").replace(
        "return self.head(self.body(x))", "h = self.body(x)\n        return self.head(h - h[0])"
    )
    whole = whole.replace("{model}", "{model}\nother = nn.Linear(3, 1).cuda()").replace(
        "SGD(model.parameters()", "SGD([*model.parameters(), *other.parameters()]"
    )
    whole = whole.replace("mse_loss(model(x), y)", "mse_loss(model(x) + other(x), y)")
    text = whole.format(
        body="nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4))", model=f"{NET}.cuda()"
    )
    result = convert_on_any_way(text.encode())
    assert "SplitCalls(other)" in result.text
    assert "convert_sync_batchnorm" not in result.text and "synchronise_norms" not in result.text
    assert "PT307" not in {finding.code for finding in result.findings}
