"""Random numbers drawn above the training are those of rank 0 for all, or the script is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Options, Outcome
from transpile import convert as convert_on_any_way
from transpile.verify import Auditor, format_report

TOP = """\
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
"""
TRAIN = """\


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=12)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
"""
JOINED = 'if __name__ == "__main__":\n    setup_distributed("gloo")\nshare_random_state'


@pytest.mark.parametrize(
    "drawn",
    [
        "inputs = torch.randn(48, 4)",
        "inputs = torch.from_numpy(np.random.rand(48, 4)).float()",
        "inputs = torch.tensor([[random.random() for _ in range(4)] for _ in range(48)])",
        "inputs = torch.empty(48, 4).normal_()",
        "rows = torch.arange(192.0).view(48, 4).tolist()\nrandom.shuffle(rows)\n"
        "inputs = torch.tensor(rows)",
        "def made():\n    return torch.rand(48, 4)\n\n\ninputs = made()",
        "torch.manual_seed(0)\ninputs = torch.from_numpy(np.random.rand(48, 4)).float()",
        "inputs = torch.randn(48, 4)\nimport math",
        "if random.random() < 2:\n    torch.manual_seed(0)\ninputs = torch.randn(48, 4)",
    ],
)
def test_the_processes_join_above_what_is_drawn(drawn: str) -> None:
    text = convert(TOP + drawn + TRAIN).text
    assert JOINED in text
    assert text.index(JOINED) < text.index("inputs =")


@pytest.mark.parametrize(
    "drawn",
    [
        "torch.manual_seed(1)\ninputs = torch.randn(48, 4)",
        "np.random.seed(1)\ninputs = torch.from_numpy(np.random.rand(48, 4)).float()",
        "inputs = torch.randn(48, 4, generator=torch.Generator().manual_seed(1))",
        "inputs = torch.ones(48, 4)\nnoise = torch.randn(3)",
    ],
)
def test_what_is_seeded_or_not_trained_on_stays_above(drawn: str) -> None:
    text = convert(TOP + drawn + TRAIN).text
    assert 'def main():\n    setup_distributed("gloo")\n' in text


@pytest.mark.parametrize(("seed", "refused"), [("", True), ("torch.manual_seed(0)\n", False)])
def test_what_another_module_draws_is_refused_without_a_seed(
    tmp_path: Path, seed: str, refused: bool
) -> None:
    (tmp_path / "toy.py").write_text(f"import torch\n\n{seed}inputs = torch.randn(48, 4)\n")
    script = tmp_path / "train.py"
    script.write_text(TOP + "from toy import inputs\n" + TRAIN)
    result = convert(script.read_bytes(), Options(), path=str(script))
    assert any(finding.code == "PT703" for finding in result.findings) is refused


def test_the_processes_hold_equal_data(auditor: Auditor, tmp_path: Path) -> None:
    # One seed for the data, set only where the script runs alone or is the first of several:
    # another process that drew for itself would hold other samples.
    drawn = (
        "import os\n\nif os.environ.get('RANK', '0') == '0':\n    torch.manual_seed(3)\n"
        "inputs = torch.randn(48, 4)"
    )
    source = (
        TOP
        + drawn
        + TRAIN.replace("\n\nif __name__", '    torch.save(model, "m.pt")\n\n\nif __name__')
    )
    result = convert(source, Options(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, result.findings
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source, "utf-8")
    output.write_bytes(result.data)
    report = auditor.audit(original, output, world_sizes=(1, 2), timeout_seconds=300)
    assert report.passed, format_report(report)


IMPORTING = """\
from torch import nn
import torch

from made import batches

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x in batches:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
SHUFFLED = """\
import random

import torch
from torch.utils.data import DataLoader, TensorDataset

rows = list(torch.arange(192.0).view(48, 4))
{seeds}
random.shuffle(rows)
batches = DataLoader(TensorDataset(torch.stack(rows)), batch_size=12)
"""
OF_LIBRARY = """\
import random

import numpy as np
import torch
from somelib import BucketIterator

{seeds}
batches, tested = BucketIterator.splits(("train", "test"), batch_size=4)
"""


@pytest.mark.parametrize(
    ("made", "outcome"),
    [(SHUFFLED, Outcome.REFUSED), (OF_LIBRARY, Outcome.CONVERTED)],
    ids=["shuffled", "iterator of a library"],
)
def test_what_imports_draw_is_told_where_calls_are_split(
    made: str, outcome: Outcome, tmp_path: Path
) -> None:
    seeds = "random.seed(0)\ntorch.manual_seed(0)"
    seeds += "\nnp.random.seed(0)" if "np" in made else ""
    for seeded in ("", seeds):
        (tmp_path / "made.py").write_text(made.format(seeds=seeded))
        found = convert_on_any_way(
            IMPORTING, Options(shard="calls"), path="train.py", folder=tmp_path
        )
        assert found.outcome is (Outcome.CONVERTED if seeded else outcome)
        assert ("PT703" in {each.code for each in found.findings}) is not bool(seeded)
