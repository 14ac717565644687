"""However a script uses DataParallel, its checkpoints keep their names with several processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_scripts import converted

from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(3, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=6)
model = Net()
{wrap}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt"))
inner = {inner}
torch.save(inner.state_dict(), "inner.pt")
print(sorted(model.state_dict()))
"""
ALWAYS = "model = nn.DataParallel(model)"
CHOSEN = """\
if sys.argv[1] == "whole":
    model = nn.DataParallel(model)
elif sys.argv[1] == "part":
    model.features = nn.DataParallel(model.features)
"""
ASKED = "model.module if isinstance(model, nn.DataParallel) else model"


@pytest.mark.parametrize(
    ("wrap", "inner", "argument"),
    [
        (ALWAYS, "model.module", ""),
        (CHOSEN, ASKED, "whole"),
        (CHOSEN, ASKED, "part"),
        (CHOSEN, ASKED, "none"),
    ],
    ids=["always", "whole", "part", "none"],
)
def test_names_in_checkpoints_stay(
    wrap: str, inner: str, argument: str, tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT.format(wrap=wrap, inner=inner), "utf-8")
    output.write_bytes(converted(original.read_text("utf-8")).data)
    report = auditor.audit(
        original,
        output,
        world_sizes=(1, 2),
        arguments=(argument,),
        tolerance=1e-5,
        timeout_seconds=90,
    )
    assert report.passed, format_report(report)
