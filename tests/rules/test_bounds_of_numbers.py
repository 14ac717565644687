"""Numbers over the batch that are kept from a bound, and samples that are put at places."""

from __future__ import annotations

import pytest
from test_quantity import check

EACH = "each = F.cross_entropy(out, y, reduction='none')\n"


@pytest.mark.parametrize(
    "body",
    [
        "torch.clamp(out.mean(), min=0.18)",
        "out.mean(0).clamp(min=0.15).sum()",
        "max(out.mean(), 0.55)",
        "out.mean().clamp(max=1.0)",
        "out.mean().clamp(0, 1)",
        "out.mean().clamp_max(2)",
        "min(m.sum(), 4.0)",
        "max(m.sum().item(), 1.0)",
        "n = m.sum()\nif n == 0:\n    n = 1\nq = out.sum() / n",
        "out.sum() / max(int(m.sum()), 1)",
        "out.sum() / m.sum().clamp(min=1).float()",
        "torch.clamp(m.sum(), min=1) * out.mean()",
        "max(len(y), 30)",
        "mu, rest = out.chunk(2, 1)\nq = mu.mean(0).clamp(min=0.1).sum()",
    ],
)
def test_a_bound_of_a_number_over_the_batch_is_not_that_of_its_parts(body: str) -> None:
    check(body, "unknown")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out.sum() / m.sum().clamp(min=1)", "mean over a denominator that differs"),
        ("out.sum() / max(m.sum(), 1)", "mean over a denominator that differs"),
        ("n = m.sum().clamp(min=1)\nq = out.sum() / n", "mean over a denominator that differs"),
        ("out.mean().clamp(min=1e-8)", "mean"),
        ("out.clamp(min=0.15).mean()", "mean"),
        ("max(fixed.mean(), 0.5)", "independent"),
        ("out.sum() / max(len(y), 1)", "mean"),
        ("max(out.mean().item(), 0.5)", "independent"),
        ("mu, rest = out.chunk(2, 1)\nq = mu.exp().mean()", "mean"),
    ],
)
def test_bounds_that_hold_for_all_processes(body: str, expected: str) -> None:
    check(body, expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (EACH + "q = torch.zeros(3).scatter_add(0, y, each)", "sum"),
        (EACH + "q = torch.zeros(3).index_add(0, y, each)", "sum"),
        (EACH + "q = torch.zeros(3).scatter_add(0, y, each).max()", "unknown"),
        (EACH + "q = torch.ones(3).scatter_add(0, y, each)", "unknown"),
        (EACH + "q = torch.zeros(3).scatter(0, y, each)", "unknown"),
        ("torch.zeros(len(y), 3).scatter(1, y.unsqueeze(1), 1.0)", "samples"),
        ("weights.index_select(0, y)", "samples"),
    ],
)
def test_samples_at_places_that_they_say(body: str, expected: str) -> None:
    check(body, expected)
