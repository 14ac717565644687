"""Wrapped models that the language itself looks into."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from transpile import Options, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.randn(64, 6)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)])

    def __iter__(self):
        return iter(self.parts)

    def __contains__(self, name):
        return any(name == word for word, _ in self.named_parameters())

    @property
    def size(self):
        return len(self.parts)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def applied(net, h):
    for layer in net:
        h = layer(h)
    return h.sum().item()


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in loader:
    loss = F.cross_entropy(model(a), b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(applied(model, x))
    first, *rest = model
    print(first.weight.sum().item(), len([*model]), [type(part).__name__ for part in model])
    print(getattr(model, "size"), "parts.0.weight" in model)
    print(f"{model}", "%s of %d" % (model, 3))
torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize("way", ["data", "calls"])
def test_they_are_reached_behind_the_wrap(
    way: Literal["data", "calls"], tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT, "utf-8")
    result = convert(SCRIPT, Options(shard=way))
    assert result.text.count("unwrap(") > 8
    assert "for layer in unwrap(net)" in result.text
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), tolerance=1e-9, printed_numbers=True
    )
    assert report.passed, format_report(report)
