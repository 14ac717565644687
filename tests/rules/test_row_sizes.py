"""Views that put several samples into one row, told by how long the rows of the samples are."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

SCRIPT = """\
import argparse
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

torch.manual_seed(0)
parser = argparse.ArgumentParser()
parser.add_argument("--frames", type=int, default=4)
args = parser.parse_args()
{setup}
loader = DataLoader(data, batch_size=16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for {batch} in loader:
        out = model(x)
        {line}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
ROWS = """\
data = TensorDataset(torch.randn(64, 6), torch.randn(64, 2))
model = nn.Linear(6, 2)
"""
OWN = """\
class Rows(Dataset):
    def __init__(self, count=64):
        self.x = torch.from_numpy(np.random.randn(count, 6)).float()
        self.y = torch.randn(count, 2)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        return self.x[index], self.y[index]
model = nn.Linear(6, 2)
"""
CONVOLUTION = """\
data = TensorDataset(torch.randn(64, 1, 8, 8), torch.randn(64, 2))
model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2))
"""
FRAMES = """\
class Frames(nn.Module):
    def __init__(self, frames=4):
        super().__init__()
        self.frames = frames
        self.body = nn.Linear(6, 5)
        self.head = nn.Linear(5, 2)
    def forward(self, x):
        h = F.relu(self.body(x))
        h = {view}
        h = h + 0.5 * torch.roll(h, 1, dims=1)
        return self.head(h.flatten(0, 1))
data = TensorDataset(torch.randn(64, 6), torch.randn(64, 2))
model = Frames()
"""
CLIPS = """\
data = TensorDataset(torch.randn(64, 4, 6), torch.randn(64, 2))
model = nn.Linear(6, 2)
"""
SQUARED = "loss = {}.pow(2).mean()"


def found(setup: str, line: str, batch: str = "x, y") -> set[str]:
    """The codes of warnings and errors where batches are shared."""
    text = SCRIPT.format(setup=setup, line=line, batch=batch)
    result = convert(text, Options(shard="data"))
    assert result.outcome in (Outcome.CONVERTED, Outcome.REFUSED), result.findings
    return {one.code for one in result.findings if one.level.name in ("WARNING", "ERROR")}


@pytest.mark.parametrize(
    ("setup", "made"),
    [
        (ROWS, "out.view(-1, 4, 2).mean(1)"),
        (ROWS, "out.reshape(-1, 8)"),
        (ROWS, "out.view(-1, args.frames, 2).mean(1)"),
        (ROWS, "out.view(-1, 4, out.size(1)).mean(1)"),
        (ROWS, "out.reshape(-1, 4 * out.shape[-1])"),
        (ROWS, "out.view((-1, 4) + out.size()[1:]).mean(1)"),
        (ROWS, "out.view(-1, 4, *out.shape[1:]).mean(1)"),
        (ROWS, "out.view(out.size(0) // 4, 4, 2).mean(1)"),
        (ROWS, "out.view(len(x) // args.frames, args.frames, 2).mean(1)"),
        (ROWS, "model(x.view(-1, 2, 6).sum(1))"),
        (ROWS.replace("6, 2)\n", "4, 2)\n"), "x.view(-1, 4)"),
        (OWN + "data = Rows()\n", "out.view(-1, 4, 2).mean(1)"),
        (OWN + "data, held_out = random_split(Rows(), [48, 16])\n", "out.view(-1, 4, 2).mean(1)"),
        (CONVOLUTION, "out.view(-1, 4, 2).mean(1)"),
        (FRAMES.format(view="h.view(-1, self.frames, 5)"), "(out - y)"),
        (FRAMES.format(view="h.view(h.size(0) // self.frames, self.frames, 5)"), "(out - y)"),
        (CLIPS, "out.view(-1, 8, 2).mean(1)"),
        (CLIPS, "out.flatten(0, 1).view(-1, 8, 2).mean(1)"),
    ],
)
def test_rows_of_several_samples_are_told(setup: str, made: str) -> None:
    """What samples are put together depends on which of them a process has."""
    assert found(setup, SQUARED.format(made))


def test_parts_of_a_batch_by_name_are_followed() -> None:
    """A sample may be a dict."""
    setup = OWN.replace(
        "return self.x[index], self.y[index]", 'return {"x": self.x[index], "y": self.y[index]}'
    )
    batch = "batch in loader:\n        x, y = batch['x'], batch['y']\n        if True"
    text = SCRIPT.replace("for {batch} in loader:", "for {batch}:")
    line = SQUARED.format("out.view(-1, 4, 2).mean(1)")
    script = text.format(setup=setup + "data = Rows()\n", line=line, batch=batch).replace(
        "        if True:\n", ""
    )
    result = convert(script, Options(shard="data"))
    assert any(one.level.name == "WARNING" for one in result.findings)


@pytest.mark.parametrize(
    ("setup", "made"),
    [
        (ROWS, "out.view(-1, 2, 1)"),
        (ROWS, "out.view(-1, 2, out.size(1) // 2)"),
        (ROWS, "out.view(out.size(0), -1, 1)"),
        (ROWS, "out.view(-1, args.frames, out.size(1) // args.frames)"),
        (ROWS.replace("(6, 2)", "(6, 12)"), "out.view(-1, 3, 4).softmax(1)"),
        (OWN + "data = Rows()\n", "out.view(-1, 1, 2).mean(1)"),
        (CONVOLUTION, "out.view(-1, 2, 1).mean(1)"),
        (CLIPS, "model(x.view(-1, 6)).view(-1, 4, 2).mean(1)"),
        (CLIPS, "model(x.view(-1, 6)).view(len(x), 4, 2).mean(1)"),
        (CLIPS, "out.view(-1, 8)"),
        (CLIPS, "out.flatten(0, 1).view(-1, 4, 2).mean(1)"),
        (ROWS, "torch.where(out[:, :1] > 0, out, -out).view(-1, 2)"),
        (ROWS, "(out + torch.full(size=(2,), fill_value=1.0)).view(-1, 2, 1)"),
    ],
)
def test_rows_within_a_sample_are_left_alone(setup: str, made: str) -> None:
    """A view that cuts each row anew, or puts rows of one sample together again, keeps samples."""
    assert found(setup, SQUARED.format(made)) == set()
