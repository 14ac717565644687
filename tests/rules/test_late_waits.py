"""Tests for the end of the process group where files are read behind the training's function."""

from __future__ import annotations

from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(96, 3), torch.randn(96, 1))
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=12):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    model = main()
"""
READ_BACK = """\
    torch.save(model.state_dict(), "model.pth")
    model = nn.Linear(3, 1)
    model.load_state_dict(torch.load("model.pth"))
    print(model)
"""


def test_the_group_outlives_waits_behind_the_function_that_joined_it() -> None:
    """A barrier without a process group holds nobody up: others read what is not written yet."""
    found = convert(SCRIPT + READ_BACK)
    assert found.outcome is Outcome.CONVERTED
    guarded = found.text.partition('if __name__ == "__main__":\n    model = main()')[2]
    assert guarded.index("barrier()") < guarded.index("cleanup_distributed()")
    assert found.text.count("    cleanup_distributed()\n") == 1
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_else_it_ends_with_the_function_that_joined_it() -> None:
    found = convert(SCRIPT)
    assert "    cleanup_distributed()\n    return model\n" in found.text


def test_what_others_may_still_read_is_not_removed_without_a_word() -> None:
    text = """\
import shutil

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
loader = DataLoader(dataset, batch_size=6, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "temporary/best.pt")
    best = torch.load("temporary/best.pt")
    shutil.rmtree("temporary")
"""
    result = convert(text.encode(), path="train.py")
    assert [finding.line for finding in result.findings if finding.code == "PT573"] == [20]
    earlier = text.replace('    shutil.rmtree("temporary")\n', "").replace(
        "for epoch in range(2):\n", 'for epoch in range(2):\n    shutil.rmtree("temporary")\n'
    )
    result = convert(earlier.encode(), path="train.py")
    assert "PT573" not in {finding.code for finding in result.findings}
