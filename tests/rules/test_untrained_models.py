"""Models that do not learn, but give losses what they compare with."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import copy
import torch, torchvision
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset


class Standardise(nn.Module):
    def forward(self, x):
        return (x - x.mean({axis}, keepdim=True)) / x.std({axis}, keepdim=True)


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = {norm}
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.norm(x))


class Cost(nn.Module):
    def forward(self, found, wanted):
        return -(wanted * found.log_softmax(1)).sum(1).mean()


student = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
teacher = {teacher}
cost = Cost()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for (x,) in DataLoader(TensorDataset(torch.randn(60, 5)), batch_size=12):
    with torch.no_grad():
        wanted = teacher(x).softmax(1)
    loss = cost(student(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NORMED = "nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 3))"
ROW = "nn.Sequential(Standardise(), nn.Linear(5, 3))"
#: The norm within the teacher, the axis of the other norm, the teacher, and whether it mixes.
CASES = {
    "row of the batch": ("None", 0, ROW, True),
    "row of a sample": ("None", 1, ROW, False),
    "class of the batch": ("Standardise()", 0, "Teacher()", True),
    "class of a sample": ("Standardise()", 1, "Teacher()", False),
    "batch norm in training": ("nn.BatchNorm1d(5)", 1, "Teacher()", True),
    "batch norm in a row": ("None", 1, NORMED, True),
    "batch norm in evaluation": ("nn.BatchNorm1d(5)", 1, "Teacher().eval()", False),
    "row in evaluation": ("None", 1, f"{NORMED}.eval()", False),
    "copy in training": ("None", 1, "copy.deepcopy(student)", True),
    "copy of a copy": ("None", 1, "copy.deepcopy(AveragedModel(student))", True),
    "of a library": ("None", 1, "torchvision.models.resnet18(num_classes=3)", True),
    "of a library in evaluation": (
        "None", 1, "torchvision.models.resnet18(num_classes=3).eval()", False
    ),
    "of a library without norms": ("None", 1, "torchvision.models.vgg11(num_classes=3)", False),
    "copy in evaluation": ("None", 1, "copy.deepcopy(student).eval()", False),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_teachers_that_mix_their_samples_are_not_taken_for_others(name: str) -> None:
    norm, axis, teacher, mixes = CASES[name]
    source = SCRIPT.format(norm=norm, axis=axis, teacher=teacher)
    if name.startswith("copy"):
        # The student goes on in training mode, whatever its copy is in.
        source = source.replace("nn.ReLU()", "nn.BatchNorm1d(8)")
        source = source.replace("    with torch.no", "    student.train()\n    with torch.no")
    found = {each.code for each in convert(source, Options(shard="data")).findings}
    assert found.isdisjoint({"PT403", "PT413"}) is not mixes, found
    split = "split_calls" in convert(source).text or "SplitCalls" in convert(source).text
    assert split is mixes


def test_a_copy_is_seen_where_its_forward_is_called() -> None:
    source = SCRIPT.format(norm="None", axis=1, teacher="copy.deepcopy(student)")
    source = source.replace("nn.ReLU()", "nn.BatchNorm1d(8)").replace(
        "teacher(x)", "teacher.forward(x)"
    )
    found = {each.code for each in convert(source, Options(shard="data")).findings}
    assert "PT413" in found
