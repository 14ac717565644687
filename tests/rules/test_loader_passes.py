"""What is computed from a training loader beside the training is of one process's share."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import collections

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{top}
data = TensorDataset(torch.randn(64, 3), torch.randint(0, 3, (64,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weight = None
{before}
for epoch in range(3):
    for x, y in {batches}:
        loss = nn.functional.cross_entropy(model(x), y, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{after}
"""
COUNT = """\
seen = collections.Counter()
for _, y in loader:
    seen.update(y.tolist())
"""
WEIGH = "weight = torch.tensor([1.0 / seen[i] for i in range(3)])"


def codes(
    top: str = "", before: str = "pass", batches: str = "loader", after: str = "pass"
) -> list[str]:
    source = SCRIPT.format(top=top, before=before, batches=batches, after=after)
    return [finding.code for finding in convert(source).findings]


def test_counts_that_weigh_the_loss_are_told() -> None:
    assert "PT215" in codes(before=COUNT + WEIGH)


def test_counts_that_weigh_nothing_are_no_matter() -> None:
    assert "PT215" not in codes(before=COUNT)


@pytest.mark.parametrize("drawn", ["list_of = [*loader]", "first, *rest = loader"])
def test_a_loader_may_be_unpacked(drawn: str) -> None:
    assert "DT000" not in codes(after=drawn)
    assert convert(SCRIPT.format(top="", before="pass", batches="loader", after=drawn)).text


@pytest.mark.parametrize(
    ("top", "after"),
    [
        (
            "from torch.optim.swa_utils import AveragedModel, update_bn\n",
            "update_bn(loader, AveragedModel(model))",
        ),
        ("import metrics\n", "metrics.Report(loader).show()"),
        ("import metrics\n", "report = metrics.start()\nreport.compare(model, loader)"),
    ],
)
def test_a_call_that_is_given_the_loader_is_told(top: str, after: str) -> None:
    assert codes(top=top, after=after) == ["PT216"]


@pytest.mark.parametrize(
    ("top", "parts"),
    [
        ("from tqdm import tqdm\n", {"batches": "tqdm(loader)"}),
        ("", {"after": "print(len(loader), type(loader))"}),
        ("", {"after": "kept = []\nkept.append(loader)"}),
        ("", {"before": "batches = iter(loader)\nfirst = next(batches)"}),
    ],
)
def test_what_draws_nothing_is_no_matter(top: str, parts: dict[str, str]) -> None:
    assert "PT216" not in codes(top=top, **parts)
