"""Batches that each step makes up from random numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result
from transpile import convert as automatic
from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn as nn

torch.manual_seed(0)
size = 12
shape, template = (size, 4), torch.zeros(size, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    {draw}
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MEAN = "(model(x) - x.sum(1, keepdim=True)).pow(2).mean()"


def result(draw: str, loss: str = MEAN) -> Result:
    return convert(SCRIPT.format(draw=draw, loss=loss))


@pytest.mark.parametrize(
    ("draw", "line"),
    [
        ("x = torch.randn(size, 4)", "x = torch.randn(split_batch(size), 4)"),
        ("x = torch.rand((12, 4))", "x = torch.rand((split_batch(12), 4))"),
        ("x = torch.rand([size, 4])", "x = torch.rand([split_batch(size), 4])"),
        ("x = torch.rand(size=(size, 4))", "x = torch.rand(size=(split_batch(size), 4))"),
    ],
)
def test_each_process_draws_its_share(draw: str, line: str) -> None:
    found = result(draw)
    assert found.outcome is Outcome.CONVERTED
    assert line in found.text
    assert found.text.index("vary_seed()\nfor") < found.text.index(line)
    assert "PT219" in {finding.code for finding in found.findings}
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


@pytest.mark.parametrize(
    ("draw", "why"),
    [
        ("torch.manual_seed(step); x = torch.randn(size, 4)", "seeds itself in each step"),
        ("x = torch.randn(size, 4) + torch.randn(6, 4).mean(0)", "several sizes"),
        ("x = torch.randn(size, 4, generator=torch.Generator().manual_seed(1))", "made up"),
        ("x = torch.randn(1, 4)", "made up"),
        ("x = torch.randn(*shape)", "made up"),
        ("x = torch.randn((*shape,))", "made up"),
        ("x = torch.randn(shape)", "made up"),
        ("x = torch.randn(size=shape)", "made up"),
        ("x = torch.randn(template.shape)", "made up"),
        ("x = torch.randn(template.size())", "made up"),
        ("x = torch.randn(size // 2 * 2, 4)", "made up"),
    ],
)
def test_what_is_no_fresh_batch_is_refused(draw: str, why: str) -> None:
    found = result(draw)
    assert found.outcome is Outcome.REFUSED
    reasons = [f.message for f in found.findings if f.level is Level.ERROR]
    assert any(why in each or "makes up" in each for each in reasons), reasons


def test_a_size_that_shapes_and_divides_is_refused() -> None:
    """The share would stand where the loss divides by the whole."""
    text = SCRIPT.format(draw="pass", loss="of(size)").replace(
        "optimizer =",
        "def of(n):\n    x = torch.randn(n, 4)\n    return model(x).pow(2).sum() / n\n\n\n"
        "optimizer =",
    )
    found = convert(text)
    assert found.outcome is Outcome.REFUSED
    messages = " ".join(finding.message for finding in found.findings)
    assert "for a shape and for a number that it computes" in messages


DRAWN_BESIDE = """\
import numpy as np
import torch
import torch.nn as nn
from elsewhere import samples

torch.manual_seed(0)
size = 12
data = np.ones((120, 4), dtype="float32")
source = samples(data)
random = np.random.RandomState(0)


class Feed:
    def __init__(self):
        self.data = np.random.randn(120, 4).astype("float32")
        self.at = 0

    def take(self, count):
        self.at = (self.at + count) % 120
        return self.data[self.at : self.at + count]


def batches():
    while True:
        yield np.random.rand(size, 4).astype("float32")


def piece():
    first = np.random.randint(0, len(data) - size)
    return data[first : first + size]


feed = Feed()
stream = batches()
critic = nn.Linear(4, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(20):
    fake = torch.randn(size, 4)
    real = torch.from_numpy({draw})
    loss = critic(fake).mean() - critic(real).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "draw",
    [
        "source.next_batch(size)",
        "next(stream)",
        "piece()",
        "np.random.rand(size, 4).astype('float32')",
        "random.rand(size, 4).astype('float32')",
    ],
)
def test_data_drawn_in_another_way_beside_the_noise_is_refused(draw: str) -> None:
    """Every process would draw whole batches of its own, N times as many samples as one does."""
    found = convert(DRAWN_BESIDE.format(draw=draw))
    assert found.outcome is Outcome.REFUSED
    assert "gets in another way" in " ".join(finding.message for finding in found.findings)


@pytest.mark.parametrize("draw", ["data", "feed.take(size)"])
def test_data_that_is_the_same_everywhere_may_stand_beside_the_noise(draw: str) -> None:
    found = convert(DRAWN_BESIDE.format(draw=draw))
    assert found.outcome is Outcome.CONVERTED


FLOW = """\
import torch
import torch.nn as nn
from torch import distributions

torch.manual_seed(0)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(1, 2))
        self.u = nn.Parameter(torch.randn(1, 2))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        inner = torch.tanh(z @ self.w.t() + self.b)
        slope = (1 - inner.pow(2)) * (self.w @ self.u.t())
        return z + self.u * inner, torch.log(torch.abs(1 + slope) + 1e-6).squeeze(1)


base = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = Flow()
opt = torch.optim.SGD(flow.parameters(), lr=0.05)
for step in range(6):
    z = base.sample((12,))
    x, log_det = flow(z)
    loss = (0.5 * ((x.norm(dim=1) - 2) / 0.4) ** 2 - log_det).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
torch.save(flow.state_dict(), "model.pt")
"""


def test_what_a_distribution_draws_is_another_batch_in_each_step(
    tmp_path: Path, auditor: Auditor
) -> None:
    result = automatic(FLOW, path="train.py")
    assert result.outcome is Outcome.CONVERTED and "SplitCalls(flow" in result.text
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(FLOW, "utf-8")
    output.write_text(result.text, "utf-8")
    report = auditor.audit(original, output, world_sizes=(1, 2, 3), tolerance=1e-5)
    assert report.passed, format_report(report)
