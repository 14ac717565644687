"""Several processes take the steps of one, and print its numbers, whatever the loss is."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_scripts import converted

from transpile.verify import Auditor
from transpile.verify.table import format_report

LOSS = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(72, 4)
y = torch.randint(0, 3, (72,))
place = torch.arange(72) % 12
some = (place < 5).to(x.dtype)
few = (place < 1).to(x.dtype)
partly = torch.where(place < 4, 0, y)
loader = DataLoader(TensorDataset(x, y, some, few, partly), batch_size=12)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
weights = torch.tensor([0.2, 1.0, 3.0])
criterion = {criterion}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    total = 0.0
    for i, (x, y, some, few, partly) in enumerate(loader):
        optimizer.zero_grad()
        out = model(x)
        each = F.cross_entropy(out, y, reduction="none")
        {body}
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, total / len(loader))
torch.save(model.state_dict(), "model.pt")
"""
BODIES = {
    "sum": "loss = each.sum()\n(loss / 12).backward()",
    "sum and penalty": (
        "loss = 0.05 * each.sum() + 0.1 * sum(p.pow(2).sum() for p in model.parameters())\n"
        "loss.backward()"
    ),
    "mask": "loss = (each * some).sum() / some.sum()\nloss.backward()",
    "mask of one sample": ("loss = (each * few).sum() / few.sum().clamp(min=1)\nloss.backward()"),
    "weighted samples": ("w = some + 0.1\nloss = (each * (w / w.sum())).sum()\nloss.backward()"),
    "weighted classes": "loss = criterion(out, partly)\nloss.backward()",
    "targets left out": "loss = F.nll_loss(out, partly, weights, ignore_index=0)\nloss.backward()",
    "targets that are marked": (
        "partly[partly == 0] = -100\nloss = F.cross_entropy(out, partly)\nloss.backward()"
    ),
    "some of the samples": (
        "chosen = y[few + some > 0]\nloss = F.cross_entropy(out[few + some > 0], chosen)\n"
        "loss.backward()"
    ),
    "several losses": (
        "loss = each.sum() / 6\ntorch.autograd.backward([0.1 * loss, out.pow(2).mean()])"
    ),
    "weight by numbers": (
        "first, second = each.mean(), out.pow(2).mean()\n"
        "loss = first + second * (first.item() / second.item())\nloss.backward()"
    ),
    "mean over the batch size": "loss = each.mean() / len(x)\nloss.backward()",
}
CRITERION = "nn.CrossEntropyLoss(weights, ignore_index=0, label_smoothing=0.2)"

NUMBERS = """\
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
n = 72
xs = torch.randn(n, 4)
ys = torch.randint(0, 3, (n,))
loader = DataLoader(TensorDataset(xs, ys), batch_size=12)
valid = DataLoader(TensorDataset(xs[:20], ys[:20]), batch_size=8)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class AverageMeter(object):
    def __init__(self, name):
        self.name = name
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return "{name} {val:.4f} ({avg:.4f}) {count}".format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


def run(data, training):
    total, right, seen = 0.0, 0, 0
    for x, y in data:
        with torch.set_grad_enabled(training):
            out = model(x)
            loss = criterion(out, y)
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(x)
        right += (out.argmax(1) == y).sum().item()
        seen += len(x)
    return total / len(data.dataset), right, seen, right / seen


for epoch in range(2):
    print("run", "%.4f %d %d %.4f" % run(loader, True))
    print("val", "%.4f %d %d %.4f" % run(valid, False))
    losses, top1, top2 = AverageMeter("loss"), AverageMeter("top1"), AverageMeter("top2")
    correct, squares, tensors, numpied = 0, 0.0, [], []
    for i, (x, y) in enumerate(loader):
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        acc1, acc2 = accuracy(out, y, topk=(1, 2))
        losses.update(loss.item(), x.size(0))
        top1.update(acc1[0], x.size(0))
        top2.update(acc2.item(), x.size(0))
        correct += (out.max(1)[1] == y).sum()
        squares += F.mse_loss(out, F.one_hot(y, 3).float(), reduction="sum").item()
        tensors.append(loss.detach())
        numpied.append(np.mean(out.detach().argmax(1).numpy() == y.numpy()))
        if i % 2 == 0:
            print("%d/%d" % (i * len(x), len(loader.dataset)), losses, top1, top2)
    size = len(loader.dataset)
    print("correct {}/{} ({:.2f}%)".format(correct, size, 100.0 * correct / size))
    print("rmse %.5f" % math.sqrt(squares / len(loader.dataset)), "ppl %.5f" % math.exp(losses.avg))
    print("mean %.5f" % torch.stack(tensors).mean(), "np %.5f" % np.mean(numpied))
    print("batch share %.3f" % (len(x) / len(loader.dataset)), x.size(0))
"""


def check(auditor: Auditor, folder: Path, text: str) -> None:
    """The script trains the same model with 1, 2 and 3 processes, and prints the same."""
    script, output = folder / "train.py", folder / "train_dist.py"
    script.write_text(text)
    result = converted(text)
    assert not [finding for finding in result.findings if finding.level.name != "NOTE"]
    output.write_text(result.text)
    report = auditor.audit(
        script, output, world_sizes=(1, 2, 3), tolerance=1e-5, printed_numbers=True
    )
    assert report.passed, format_report(report)


@pytest.mark.parametrize("name", BODIES)
def test_losses(auditor: Auditor, tmp_path: Path, name: str) -> None:
    body = BODIES[name].replace("\n", "\n        ")
    check(auditor, tmp_path, LOSS.format(body=body, criterion=CRITERION))


def test_numbers(auditor: Auditor, tmp_path: Path) -> None:
    check(auditor, tmp_path, NUMBERS)
