"""Losses that may be a constant: a wrap would wait for gradients that do not come."""

from __future__ import annotations

import pytest
from small_scripts import converted, script

#: What is added to a loss of the parameters themselves.
PENALTY = "for p in model.parameters():\n        loss = loss + p.norm()"
APART = (
    "penalty = 0.0\n    for p in model.parameters():\n        penalty = penalty + p.norm()\n    "
)


def text_of(loss: str, more: str) -> str:
    """A script whose steps have such a loss."""
    return script(
        model="optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
        epoch="for x, y in loader:\n    error = ((model(x) - y) ** 2).mean()\n    "
        f"loss = {loss}\n    {more}\n    "
        "optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()",
    )


@pytest.mark.parametrize("more", [PENALTY, f"{APART}loss = loss + penalty"])
@pytest.mark.parametrize(
    ("loss", "wrapped"),
    [
        ("error", True),
        ("max(error, 2 * error)", True),
        ("max(error, torch.tensor(0.9))", False),
        ("min(error, torch.tensor(0.9))", False),
        ("error if x.sum() > 0 else torch.tensor(0.9)", False),
    ],
)
def test_a_loss_of_parameters_beside_a_constant(loss: str, more: str, wrapped: bool) -> None:
    text = converted(text_of(loss, more)).text
    assert ("DistributedDataParallel(model" in text or "SplitCalls(model" in text) is wrapped
    assert ("average_gradients(" in text) is not wrapped
