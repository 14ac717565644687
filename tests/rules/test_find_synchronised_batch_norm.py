"""Tests for batch norm behind the place where it becomes synchronised."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 0.5)

    def forward(self, x):
        return self.bn(self.conv(x)).mean((2, 3))


def penalise():
    for m in model.modules():
        if {test}:
            m.weight.grad.data.add_(1e-4 * torch.sign(m.weight.data))


data = TensorDataset(torch.randn(96, 3, 8, 8), torch.randint(0, 4, (96,)))
loader = DataLoader(data, batch_size=12, shuffle=True)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        penalise()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("test", "line"),
    [
        (
            "isinstance(m, nn.BatchNorm2d)",
            "isinstance(m, (nn.BatchNorm2d, torch.nn.SyncBatchNorm))",
        ),
        (
            "isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) and m.affine",
            "isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, torch.nn.SyncBatchNorm)) and m.affine",
        ),
    ],
)
def test_a_test_behind_the_wrap_finds_what_is_synchronised(test: str, line: str) -> None:
    """A penalty on the weights of batch norm would be left out on GPUs without a word."""
    found = convert(SCRIPT.format(test=test))
    assert found.outcome is Outcome.CONVERTED
    assert f"if {line}:" in found.text
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_a_test_before_the_wrap_stays() -> None:
    found = convert(SCRIPT.format(test="isinstance(m, nn.BatchNorm2d)"))
    assert "            if isinstance(m, nn.BatchNorm2d):\n                nn.init" in found.text


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(m, nn.modules.batchnorm._BatchNorm)",
        "isinstance(m, (nn.BatchNorm2d, nn.SyncBatchNorm))",
        "isinstance(m, nn.Conv2d)",
    ],
)
def test_other_tests_stay(test: str) -> None:
    found = convert(SCRIPT.format(test=test))
    assert f"if {test}:" in found.text


def test_without_synchronised_batch_norm_nothing_is_to_be_found() -> None:
    test = "isinstance(m, nn.BatchNorm2d)"
    found = convert(SCRIPT.format(test=test), Options(sync_batch_norm="off"))
    assert f"if {test}:\n            m.weight.grad" in found.text


def test_a_comparison_of_classes_is_warned_of() -> None:
    found = convert(SCRIPT.format(test="type(m) is nn.BatchNorm2d"))
    assert "PT318" in {finding.code for finding in found.findings}
