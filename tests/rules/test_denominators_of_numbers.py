"""Reported quotients: denominators are taken over the processes before they are kept from zero."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome, Result

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
loader = DataLoader(data, batch_size=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    each = F.cross_entropy(model(x), y, reduction="none")
    each.mean().backward()
    optimizer.step()
    {step}
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            "print(((each * y).sum() / y.sum().clamp(min=1)).item())",
            "reduce_sum(y.sum()).clamp(min=1) / get_world_size()",
        ),
        (
            "print(((each * y).sum() / torch.clamp(y.sum(), min=1)).item())",
            "torch.clamp(reduce_sum(y.sum()), min=1) / get_world_size()",
        ),
        (
            "n = y.sum().clamp_min(1)\n    print(((each * y).sum() / n).item())",
            "n = reduce_sum(y.sum()).clamp_min(1) / get_world_size()",
        ),
        (
            "print(((each * y).sum() / y.sum()).item())",
            "reduce_mean((each * y).sum() / reduce_mean(y.sum())).item()",
        ),
        (
            "print(float((each * y).sum() / (y.sum() + 1e-8)))",
            "reduce_mean((each * y).sum() / (reduce_mean(y.sum()) + 1e-8))",
        ),
    ],
)
def test_the_bound_of_a_denominator_holds_for_all_processes(step: str, expected: str) -> None:
    result = convert(SCRIPT.format(step=step).encode())
    assert result.outcome is Outcome.CONVERTED
    assert expected in " ".join(result.text.split())
    assert not [found for found in result.findings if found.level.label != "note"]


@pytest.mark.parametrize(
    "step",
    [
        "n = y.sum().clamp(min=1)\n    print(((each * y).sum() / n).item(), n.item())",
        "print((each * y).sum().item() / y.sum().clamp(min=1).item())",
        "print(((each * y).sum() / torch.maximum(y.sum(), torch.tensor(1))).item())",
        "print(((each * y).sum() / y.sum().clamp(max=2)).item())",
        "print(each.mean().exp().item())",
        "print(each.mean().sqrt().item())",
        "print(each.mean().clamp(max=0.5).item())",
    ],
)
def test_other_curves_of_shares_are_warned_of(step: str) -> None:
    result = convert(SCRIPT.format(step=step).encode())
    assert "PT603" in {found.code for found in result.findings}


def reported(step: str, report: str = "print(total / n)") -> Result:
    """What becomes of a script that adds something up with the samples."""
    text = SCRIPT.format(step=step).replace("for x, y", "total = n = 0\nfor x, y")
    text = text.replace("import torch\n", "import random\n\nimport torch\n", 1)
    return convert(f"{text}    n += len(x)\n{report}\n".encode())


@pytest.mark.parametrize(
    "step",
    [
        "total += 3 / (1 + y.sum().item())",
        "total += round(each.mean().item() * len(x), 3)",
        "total += int(each.mean().item() * len(x))",
        "total = 0.9 * total + y.sum().item() / (1 + (y == 0).sum().item())",
    ],
)
def test_curves_of_numbers_beside_counts_are_those_of_all_processes(step: str) -> None:
    result = reported(step)
    assert "reduce_" in result.text.partition("optimizer.step()")[2]
    assert "n += len(x) * get_world_size()" in result.text
    assert not [found for found in result.findings if found.level.label != "note"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            "lam = random.random()\n    total += lam * y.sum().item()",
            "total += reduce_number(lam * y.sum().item())",
        ),
        (
            "lam = random.random()\n    some = y.sum().item()\n    total += (1 - lam) * some",
            "total += reduce_number((1 - lam) * some)",
        ),
        (
            "lam = torch.distributions.Beta(1, 1).sample()\n    total += y.sum().item() * lam",
            "total += reduce_number(y.sum().item() * lam)",
        ),
        (
            "lam = torch.rand(1).item()\n    total += y.sum().item() / (1 + lam)",
            "total += reduce_number(y.sum().item() / (1 + lam))",
        ),
    ],
)
def test_what_chance_has_a_factor_in_is_reduced_behind_the_product(
    step: str, expected: str
) -> None:
    result = reported(step)
    assert expected in result.text
    assert not [found for found in result.findings if found.level.label != "note"]


@pytest.mark.parametrize(
    "step",
    [
        "total += random.random() / (1 + y.sum().item())",
        "total += y.sum().item() ** random.random()",
        "some = y.sum().item()\n    print(some)\n    total += random.random() * some",
        "some = y.sum().item()\n    some *= random.random()\n    total += some",
    ],
)
def test_other_numbers_beside_chance_are_warned_of(step: str) -> None:
    assert "PT603" in {found.code for found in reported(step).findings}


def test_a_seeded_generator_draws_the_same_everywhere() -> None:
    step = "lam = generator.random()\n    total += lam * y.sum().item()"
    result = reported("generator = random.Random(3)\n    " + step)
    assert "reduce_number" not in result.text.partition("optimizer.step()")[2]
