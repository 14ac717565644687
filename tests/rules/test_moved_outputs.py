"""What is moved or cast of the outputs of a model is no move of the model."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(64, 6)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=16)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for a, b in loader:
    with torch.no_grad():
        sure = model(a).softmax(1).max(1).values
        mask = {mask}
    out = model(a)
    loss = (nn.functional.cross_entropy(out, b, reduction="none") * mask).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "mask", ["(sure > 0.4).to(sure.dtype)", "sure.float()", "model(a)[:, 0].cpu()"]
)
def test_its_calls_are_split(mask: str) -> None:
    found = convert(SCRIPT.format(mask=mask), Options(shard="calls"))
    assert found.outcome is Outcome.CONVERTED
    assert "SplitCalls(model)" in found.text


def test_a_part_that_is_moved_behind_a_call_is_still_told() -> None:
    mask = "sure.float()\n    list(model.children())\n    model.double()"
    found = convert(SCRIPT.format(mask=mask), Options(shard="calls"))
    assert "PT352" in [one.code for one in found.findings]
