"""Numbers that leave the batch as a tensor at times, as a mean of some samples, or by weights."""

from __future__ import annotations

import pytest
from test_kept_samples import script, warnings

from transpile import Options, convert


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"after": "print((each > 1).double()[y == 0].mean().item())"}, True),
        ({"before": "part = 0\nif epoch:\n    part = each.mean()", "after": "print(part)"}, True),
        ({"after": "print(sum(1 for k in y if k > 1))"}, True),
        ({"after": "print(sum(2.0 for k in y.tolist() if k))"}, True),
        ({"after": "print(sum(k for k in [1, 2, 3] if k > epoch))"}, False),
        ({"before": "part = each.mean()", "after": "print(part)"}, False),
        ({"state": "total = 0", "after": "total += loss", "epoch": "print(total)"}, False),
    ],
)
def test_what_cannot_be_reduced_in_place_is_told_of(parts: dict[str, str], told: bool) -> None:
    assert ("PT603" in [code for code, _ in warnings(**parts)]) == told


@pytest.mark.parametrize(
    ("target", "rewritten"), [("F.one_hot(y, CLASSES).double() * 0.9", False), ("y", True)]
)
def test_weights_do_not_count_in_means_over_probabilities(target: str, rewritten: bool) -> None:
    text = script(
        state="criterion = nn.CrossEntropyLoss(weight=torch.ones(CLASSES))",
        before=f"target = {target}\neach = each + criterion(model(x), target)",
    )
    assert ("criterion.weight[target]" in convert(text, Options(shard="data")).text) == rewritten
