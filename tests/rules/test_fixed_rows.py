"""Training on the same rows in every step: they are shared out where no row meets another."""

from __future__ import annotations

from pathlib import Path

import pytest

from transpile import Level, Options, Outcome, convert
from transpile.verify import Auditor
from transpile.verify.table import format_report

HEAD = """\
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
"""
FIT = """\
x = torch.linspace(-1, 1, 63).unsqueeze(1)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
{optimizer}


def closure():
    optimizer.zero_grad()
    loss = (model(x) - torch.sin(3 * x)).pow(2).mean()
    loss.backward()
    return loss


for step in range(4):
    print(step, optimizer.step(closure).item())
torch.save(model.state_dict(), "model.pt")
"""
GRAPH = """\
count = 24


class Net(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.register_buffer("kept", edges)
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x, edges):
        return {forward}


x, y = torch.randn(count, 4), torch.arange(count) % 2
edges = (torch.rand(count, count) < 0.2).double()
edges = ((edges + edges.t()) > 0).double() + torch.eye(count)
degree = edges.sum(1).rsqrt()
edges = degree[:, None] * edges * degree[None, :]
model = Net(edges)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(3):
    loss = nn.functional.cross_entropy(model(x, {given})[:10], y[:10])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
torch.save(model.state_dict(), "model.pt")
"""
NEWTON = "optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)"
ADAM = "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)"


@pytest.mark.parametrize("optimizer", [NEWTON, ADAM], ids=["newton", "adam"])
def test_rows_that_are_apart_are_shared_out(
    optimizer: str, tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(HEAD + FIT.format(optimizer=optimizer), "utf-8")
    result = convert(original.read_text("utf-8"))
    assert result.outcome is Outcome.CONVERTED and "SplitCalls(model)" in result.text
    assert all(one.level is Level.NOTE for one in result.findings)
    output.write_bytes(result.data)
    report = auditor.audit(original, output, world_sizes=(1, 2), tolerance=1e-9, timeout_seconds=90)
    assert report.passed, format_report(report)


@pytest.mark.parametrize(
    ("forward", "given"),
    [
        ("self.last(edges @ torch.relu(self.first(edges @ x)))", "edges"),
        ("torch.mm(self.kept, self.last(torch.relu(self.first(x))))", "None"),
        ("self.last(torch.relu((self.first(x).t() @ self.kept).t()))", "None"),
    ],
    ids=["given", "kept", "from the right"],
)
def test_rows_that_meet_by_a_matrix_are_not(forward: str, given: str) -> None:
    """What the source shows is said when it is converted, not by a job that stops."""
    script = HEAD + GRAPH.format(forward=forward, given=given)
    result = convert(script, Options(shard="calls"))
    assert result.outcome is Outcome.REFUSED
    (found,) = [one for one in result.findings if one.code == "PT352"]
    assert found.message.endswith("the samples of the batch are summed over")
    assert convert(script).outcome is Outcome.REFUSED


def test_a_matrix_within_each_row_is_no_meeting() -> None:
    """Places within a row meet, as those of a graph of which there are many."""
    forward = "self.last(torch.relu(edges @ self.first(x[:, :, None].expand(-1, -1, 4))).mean(1))"
    script = HEAD + GRAPH.format(forward=forward, given="torch.eye(4)")
    result = convert(script, Options(shard="calls"))
    assert result.outcome is Outcome.CONVERTED, result.findings


def test_what_is_not_shown_is_asked_for() -> None:
    script = HEAD + FIT.format(optimizer=ADAM)
    script = script.replace("nn.Tanh()", "elsewhere.Layer()").replace(
        "import torch\n", "import elsewhere\nimport torch\n", 1
    )
    assert convert(script).outcome is Outcome.REFUSED
    assert convert(script, Options(shard="calls")).outcome is Outcome.CONVERTED
