"""Several batches in one tensor: pieces are batches of their own only where they begin and end."""

from __future__ import annotations

import time

import pytest
from test_quantity_of_frameworks import measured

from transpile import Outcome, convert
from transpile.quantity.asking import describe

SAMPLES = {
    "pytorch": (
        "torch.cat([out, m]).chunk(2)[0]",
        "torch.cat((out, m, out)).chunk(3, dim=0)[1]",
        "torch.cat([torch.cat([out, m]), out, m]).chunk(2)[0]",
        "torch.cat([out] * 2).chunk(2)[0]",
        "torch.cat([out, m]).split(len(out))[0]",
        "torch.cat([out, m]).split([len(out), len(m)])[0]",
        "torch.cat([out, m]).chunk(3, dim=1)[0]",
        "torch.cat([out, m])[len(out):]",
        "torch.cat([out, m]).view(2, -1, 3)[0]",
        "out.repeat(2, 1).chunk(2)[0]",
        "out.repeat(2, 1)[: len(out)]",
        "out.repeat(2, 1).view(2, -1, 3)[0]",
        "out.repeat_interleave(2, 0).view(-1, 2, 3)[:, 0]",
        "out.repeat_interleave(2, 0)[::2]",
        "model(torch.cat([x, x])).chunk(2)[1]",
    ),
    "paddle": (
        "paddle.split(paddle.concat([out, m]), 2)[0]",
        "paddle.concat([out, m]).chunk(2)[0]",
        "paddle.split(paddle.concat([out, m]), [len(out), -1])[0]",
        "paddle.split(model(paddle.concat([x, x])), 2)[0]",
    ),
    "mxnet": (
        "nd.split(nd.concat(out, m, dim=0), 2, axis=0)[0]",
        "nd.split(nd.concat(out, m, out, dim=0), 3, axis=0)[0]",
        "nd.split(nd.concat(out, m, dim=1), 3)[0]",
    ),
    "fluid": ("L.split(L.concat([out, m], axis=0), 2, dim=0)[0]",),
}
UNKNOWN = {
    "pytorch": (
        "torch.cat([out, m]).chunk(3)[0]",
        "torch.cat([out, m]).chunk(4)[0]",
        "torch.cat([out, m]).split([8, 16])[0]",
        "torch.cat([out, m]).split(12)[0]",
        "torch.cat([out, m]).split(len(out) // 2)[0]",
        "torch.cat([out, m]).tensor_split(4)[0]",
        "torch.cat([out, m], 1).chunk(2)[0]",
        "torch.cat([out, m], 1)[: len(out) // 2]",
        "torch.cat([out, m]).view(3, -1, 3)[0]",
        "out.repeat_interleave(2, 0).chunk(2)[0]",
        "out.repeat_interleave(2, 0)[: len(out)]",
        "out.repeat_interleave(2, 0).view(2, -1, 3)[0]",
        "model(torch.cat([x, x])).chunk(3)[0]",
    ),
    "paddle": (
        "paddle.split(paddle.concat([out, m]), 4)[0]",
        "paddle.split(paddle.concat([out, m]), [8, -1])[0]",
        "paddle.split(paddle.concat([out, m], 1), 2)[0]",
    ),
    "mxnet": (
        "nd.split(nd.concat(out, m, dim=0), 3, axis=0)[0]",
        "nd.split(nd.concat(out, m, dim=1), 2, axis=0)[0]",
    ),
    "fluid": (
        "L.split(L.concat([out, m], axis=0), 3, dim=0)[0]",
        "L.split(L.concat([out, m], axis=0), [8, -1], dim=0)[0]",
        "L.split(L.concat([out, m], axis=1), 2, dim=0)[0]",
    ),
}
CASES = [
    (framework, expected, text)
    for expected, cases in (("samples", SAMPLES), ("unknown", UNKNOWN))
    for framework, texts in cases.items()
    for text in texts
]


@pytest.mark.parametrize(("framework", "expected", "expression"), CASES)
def test_pieces_are_batches_where_they_hold_whole_ones(
    framework: str, expected: str, expression: str
) -> None:
    said = describe(measured(framework, expression))
    assert said.startswith(expected), said


def test_nets_of_many_branches_are_counted_in_time() -> None:
    branches = ", ".join(["self.layer(x[:, :8])"] * 10)
    layers = f"        x = torch.cat([{branches}], 1)\n" * 8
    script = f"""\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
{layers}        return x.view(x.size(0), -1)

data = TensorDataset(torch.randn(64, 8), torch.randint(8, (64,)))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
    before = time.process_time()
    assert convert(script.encode()).outcome is Outcome.CONVERTED
    assert time.process_time() - before < 15
