"""Synchronised norms where every process has all rows: they must not count these several times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from transpile import Options, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import copy
import torch, torch.nn as nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(33, 2, 3, 3), torch.randint(0, 3, (33,)))
loader = DataLoader(data, batch_size=8)
model = nn.Sequential(nn.Conv2d(2, 4, 2), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                      nn.Linear(16, 3)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = None
for epoch in range(2):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        out = model(x)
        z = out / out.norm(dim=1, keepdim=True)
        loss = nn.functional.cross_entropy(out, y) + (z @ z.t()).pow(2).mean()
        loss.backward()
        optimizer.step()
print("trained", model[1].running_var.sum().item(), model[1].running_mean.sum().item())
"""
PRINTED = 'print("again", again{inner}[1].running_var.sum().item())\n'
CALLED = "with torch.no_grad():\n    for x, y in loader:\n        again(x.cuda())\n"
#: What follows the training, or is put before it.
USES = {
    "trained, the last batch smaller than the processes": "",
    "averaged": "again = AveragedModel(model)\nupdate_bn(loader, again, device='cuda')\n"
    + PRINTED.format(inner=".module"),
    "copied": "again = copy.deepcopy(model)\nagain.train()\n" + CALLED + PRINTED.format(inner=""),
    "copied twice": "again = copy.deepcopy(copy.deepcopy(model))\n"
    + CALLED
    + PRINTED.format(inner=""),
    "kept in a file": "torch.save(model, 'model.pt')\n"
    "again = torch.load('model.pt', weights_only=False).cuda()\n"
    + CALLED
    + PRINTED.format(inner=""),
}


@pytest.fixture(scope="module")
def on_gpus() -> Iterator[Auditor]:
    import torch

    real = torch.cuda.device_count() > 0
    with Auditor(cuda=real, share_gpus=real, pretend_cuda=0 if real else 2) as running:
        yield running


def agrees(auditor: Auditor, folder: Path, text: str) -> None:
    """Whether the conversion prints the numbers of the script."""
    script, output = folder / "train.py", folder / "train_dist.py"
    script.write_text(text)
    output.write_text(convert(text, Options(shard="calls"), path="train.py").text)
    assert "synchronise_norms(model)" in output.read_text()
    report = auditor.audit(script, output, world_sizes=(1, 2), tolerance=1e-9, printed_numbers=True)
    assert report.passed, format_report(report)


@pytest.mark.parametrize("use", USES)
def test_norms_count_each_row_once(on_gpus: Auditor, tmp_path: Path, use: str) -> None:
    agrees(on_gpus, tmp_path, SCRIPT + USES[use])


def test_norms_of_a_call_before_the_training(on_gpus: Auditor, tmp_path: Path) -> None:
    shapes = 'with torch.no_grad():\n    print("outputs", model(data[:8][0].cuda()).shape)\n'
    agrees(on_gpus, tmp_path, SCRIPT.replace("before = None\n", shapes))
