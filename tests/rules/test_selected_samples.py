"""Means over selected samples are those of the global batch, and are taken by all processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from small_scripts import converted, findings, new_lines, script

from transpile import Level, Options, Outcome
from transpile.verify import Auditor, format_report

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(48, 4)
targets = inputs.sum(1, keepdim=True)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=12)
criterion = nn.CrossEntropyLoss(ignore_index=0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        found = model(x)
        error = (found[:, :1] - y) ** 2
        rare = y > 2.5
        classes = (y.squeeze(1) > 0).long() + (y.squeeze(1) > 1).long()
        {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    "loss",
    [
        "loss = error[y > 0].mean()",
        "loss = torch.mean(error.masked_select(y > 0)) + error.mean()",
        "loss = (error[y > 0] + 1).mean() * 0.5",
        "loss = error.mean()\n        if rare.any():\n            loss = loss + error[rare].mean()",
        "loss = error.mean()\n        if rare.sum().item() > 0:\n"
        "            loss = loss + (error * rare).sum() / rare.sum()",
        "loss = criterion.forward(found, classes)",
    ],
)
def test_the_loss_is_that_of_the_global_batch(auditor: Auditor, tmp_path: Path, loss: str) -> None:
    source = SCRIPT.format(loss=loss)
    result = convert(source, Options(), path="train.py")
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert not [found for found in result.findings if found.level is Level.WARNING]
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(source, "utf-8")
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), tolerance=1e-4, printed_numbers=True,
        timeout_seconds=300,
    )  # fmt: skip
    assert report.passed, format_report(report)


def test_a_choice_by_an_expression_is_one_of_all_processes() -> None:
    loss = "err = (model(x) - y) ** 2\n{0}\n(err.mean() + chosen).backward()"
    chosen = "chosen = err[y > 0].mean() if (y > 0).any() else 0"
    assert not findings(script(batch=loss.format(chosen)), "PT403")
    assert (
        "chosen = selected_mean(err[y > 0]) if any_rank((y > 0).any()) else 0"
        in converted(script(batch=loss.format(chosen))).text
    )


def test_a_choice_by_another_question_is_a_warning() -> None:
    loss = "err = (model(x) - y) ** 2\n{0}\n(err.mean() + chosen).backward()"
    chosen = "chosen = err[y > 0].mean() if (y > 0).all() else 0"
    assert findings(script(batch=loss.format(chosen)), "PT403")


def test_another_condition_on_the_batch_is_refused() -> None:
    loss = (
        "err = (model(x) - y) ** 2\nloss = err.mean()\nif (y > 0).all():\n"
        "    loss = loss + err[y > 0].mean()\nloss.backward()"
    )
    assert [level for level, _, _ in findings(script(batch=loss), "PT712")] == [Level.ERROR]


def test_the_shape_of_a_batch_is_said_to_be_that_of_a_share() -> None:
    for shown in ("x.shape", 'f"{x.size()}"'):
        assert [level for level, _, _ in findings(script(batch=f"print({shown})"), "PT604")] == [
            Level.NOTE
        ]


def test_a_table_of_reduced_numbers_needs_no_look() -> None:
    source = script(
        top="import pandas as pd\nhistory = {'loss': []}",
        step="history['loss'].append(loss.item())",
        end="print(pd.DataFrame(history))",
    )
    assert not findings(source, "PT603")
    assert any("reduce_mean(loss)" in line for line in new_lines(source))


@pytest.mark.parametrize(
    ("count", "said"),
    [
        ("for a, b in zip((y > 0).long().tolist(), (x[:, 0] > 0).long().tolist()):\n"
         "    table[a, b] += 1", [Level.WARNING]),
        ("table[(y > 0).long().tolist(), 0] = 1", [Level.WARNING]),
        ("table[0, 1] += 1", []),
    ],
)  # fmt: skip
def test_a_table_that_is_filled_by_samples_is_said_to_be_that_of_a_share(
    count: str, said: list[Level]
) -> None:
    source = script(
        top="import numpy as np\ntable = np.zeros((2, 2))", step=count, end="print(table.tolist())"
    )
    assert [level for level, _, _ in findings(source, "PT603")] == said
