"""Rows that are cut out of data beside the batches of a loader belong to whole batches."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

inputs, targets = torch.randn(48, 4), torch.randn(48, 1)
named = nn.ParameterDict({{key: nn.Parameter(torch.zeros(())) for key in "rc"}})
losses = {{"r": nn.functional.mse_loss, "c": nn.functional.l1_loss}}
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x,) in enumerate(DataLoader(TensorDataset(inputs), batch_size=12)):
    {cut}
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def codes(cut: str, shard: str = "data") -> list[str]:
    """What is said of a script."""
    result = convert(SCRIPT.format(cut=cut), Options(shard=shard), path="t.py")  # type: ignore[arg-type]
    found = [finding.code for finding in result.findings]
    assert "PT239" not in found or result.outcome is Outcome.REFUSED
    return found


@pytest.mark.parametrize(
    "cut",
    [
        "y = targets[i * 12 : (i + 1) * 12]",
        "start = 12 * i\n    y = targets[start : start + len(x)]",
        "y = targets[i * 12 :][:12]",
        "y = targets.view(4, 12, 1)[i]",
        "y = [part for part in targets.split(12)][i]",
        "y = targets[torch.arange(i * 12, i * 12 + 12)]",
        "for key in (12 * i,):\n        y = targets[key : key + 12]",
    ],
)
def test_rows_by_a_counter_are_refused(cut: str) -> None:
    assert "PT239" in codes(cut)
    assert "PT239" not in codes(cut, shard="calls")


@pytest.mark.parametrize(
    "cut",
    [
        "y = x[:, :1]",
        "y = x[2 * i % 3 :].mean()",
        "y = 2.0",
        "y = targets[:1]",
        "y = [0.5, 0.25, 0.1, 0.0][i]",
        "for key in 'rc':\n        y = named[key] + x[:, :1]",
        "for key, by in zip('rc', (x, x)):\n        y = losses[key](by[:, :1], named[key])",
    ],
)
def test_other_slices_are_left(cut: str) -> None:
    assert "PT239" not in codes(cut)


@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ("targets.split(12)", True),
        ("targets.chunk(4)", True),
        ("range(4)", False),
        ("(0.5, 0.25, 0.1, 0.0)", False),
        ("DataLoader(TensorDataset(targets), batch_size=12)", False),
    ],
)
def test_parts_that_are_gone_through_beside_a_loader(others: str, refused: bool) -> None:
    loop = "for i, (x,) in enumerate(DataLoader(TensorDataset(inputs), batch_size=12)):"
    assert loop in SCRIPT
    beside = f"for (x,), t in zip(DataLoader(TensorDataset(inputs), batch_size=12), {others}):"
    script = SCRIPT.replace(loop, beside).format(cut="(y,) = t" if "Data" in others else "y = t")
    result = convert(script, Options(shard="data"), path="t.py")
    assert ("PT239" in [finding.code for finding in result.findings]) is refused


@pytest.mark.parametrize(
    ("shape", "taken", "is_cut"),
    [
        ("4", "weights[i]", False),
        ("4", "sum(weights[k] for k, _ in enumerate((1, 2)))", False),
        ("48, 1", "weights[i * 12 : (i + 1) * 12]", True),
        ("48", "weights[torch.arange(i * 12, i * 12 + 12), None]", True),
        ("4, 12, 1", "weights[i]", True),
    ],
)
def test_single_numbers_that_are_learned_are_no_rows(shape: str, taken: str, is_cut: bool) -> None:
    script = SCRIPT.format(cut=f"y = x[:, :1] * {taken}").replace(
        "optimizer =", f"weights = nn.Parameter(torch.ones({shape}))\noptimizer =", 1
    )
    script = script.replace("model.parameters()", "[*model.parameters(), weights]")
    found = convert(script, Options(shard="data"), path="t.py").findings
    assert ("PT239" in {one.code for one in found}) is is_cut


@pytest.mark.parametrize(
    ("made", "taken", "refused"),
    [
        ("parts = iter(targets.split(12))", "next(parts)", True),
        ("parts = (k + torch.linspace(0, 1, 12)[:, None] for k in range(4))", "next(parts)", True),
        ("parts = iter(list(targets))", "torch.stack([next(parts) for _ in x])", True),
        ("parts = iter([torch.tensor(0.5)] * 48)", "torch.stack([next(parts) for _ in x])", True),
        ("parts = np.array_split(targets.numpy(), 4)", "torch.tensor(parts[i])", True),
        ("parts = iter([0.5, 0.25, 0.1, 0.0])", "next(parts)", False),
        ("parts = iter([torch.tensor(0.5)] * 4)", "next(parts)", False),
        ("parts = np.linspace(0, 1, 4)", "parts[i]", False),
        (
            "parts = iter(DataLoader(TensorDataset(targets), batch_size=12))",
            "next(parts)[0]",
            False,
        ),
    ],
)
def test_parts_that_are_taken_from_iterators(made: str, taken: str, refused: bool) -> None:
    script = SCRIPT.format(cut=f"y = {taken}").replace("for i, ", f"{made}\nfor i, ", 1)
    script = script.replace("import torch\n", "import numpy as np\nimport torch\n", 1)
    found = convert(script, Options(shard="data"), path="t.py").findings
    assert ("PT239" in {one.code for one in found}) is refused


@pytest.mark.parametrize(
    ("written", "refused"),
    [
        ("kept[i * 12 : (i + 1) * 12] = model(x).detach()", True),
        ("kept[12 * i : 12 * i + 12] = x[:, :1]", True),
        ("kept[i * 12 : (i + 1) * 12] = 1.0", False),
        ("kept[i] = model(x).detach().mean()", False),
    ],
)
def test_samples_that_are_written_by_a_counter(written: str, refused: bool) -> None:
    script = SCRIPT.format(cut=f"y = 2.0\n    {written}")
    script = script.replace("for i, ", "kept = torch.zeros(48, 1)\nfor i, ", 1)
    found = convert(script, Options(shard="data"), path="t.py").findings
    assert ("PT239" in {one.code for one in found}) is refused
