"""Models that are given tensors which are no part of the batch, such as the edges of a graph."""

from __future__ import annotations

from typing import Literal

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(48, 5, 6), torch.randn(48, 5, 3)
edges = torch.rand(20, 5)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x, edges):
        h = self.first(x.view(x.size(0), x.size(1), -1))
        h = torch.matmul(edges, h)
        return self.last(torch.matmul(edges.t(), h) / h.size(1))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x, y), batch_size=12):
    out = model(a, edges)
    loss = nn.functional.mse_loss(out, b) + 0.1 * out.softmax(0).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_constant_is_given_whole_to_each_split_call() -> None:
    result = convert(SCRIPT)
    assert result.outcome is Outcome.CONVERTED
    assert "CheckedSplitCalls(" in result.text
    assert "inputs=(0, None)" in result.text


def test_noise_of_each_step_has_rows_as_the_batch_has() -> None:
    script = SCRIPT.replace("model(a, edges)", "model(a, torch.randn(12, 20, 5))")
    script = script.replace("edges.t()", "edges.transpose(1, 2)")
    assert "inputs=" not in convert(script, Options(shard="calls")).text


@pytest.mark.parametrize("shard", ["data", "calls"])
def test_a_constant_that_meets_the_samples_is_not_believed(
    shard: Literal["data", "calls"],
) -> None:
    script = SCRIPT.replace("x.view(x.size(0), x.size(1), -1)", "x").replace("48, 5, ", "48, ")
    codes = {finding.code for finding in convert(script, Options(shard=shard)).findings}
    assert codes & {"PT352", "PT354", "PT413", "PT414"}
