"""Values that a loop makes of themselves: the search for what is behind them comes to an end."""

from __future__ import annotations

import pytest

from transpile import convert

SCRIPT = """\
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randn(48, 6))
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
device = torch.device("cpu")
path = Path("out")
count = 12
noise, size, kept, meters = torch.zeros(12, 6), 12, {{"m": torch.zeros(6)}}, [1.0]
for x, y in DataLoader(data, batch_size=count):
    {line}
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
torch.save(model.state_dict(), "model.pt")
"""
LINES = [
    "noise = noise.resize_(12, 6).normal_(); x = x + noise",
    "noise = noise.resize_(count, 6).normal_(); x = x + noise",
    "noise = noise.copy_(x).mul_(0.5); x = noise",
    "noise.data = noise.data.copy_(noise.data); x = x + noise",
    "device = torch.device(device); x = x.to(device)",
    "device = torch.device(device); torch.set_default_device(device)",
    "path = path / 'a'; path.write_text('1')",
    "size = min(size, 12); x, y = x[:size], y[:size]",
    "meters.append(float(sum(meters)) * float(y.mean())); print(meters[-1])",
    "d = (x - y).abs() * meters[-1]; meters.append(float(d.mean())); print(sum(meters))",
    "kept = {**kept, 'k': kept}; x = x + kept['m']",
]


@pytest.mark.parametrize("line", LINES)
def test_what_is_made_of_itself_is_followed_to_an_end(line: str) -> None:
    result = convert(SCRIPT.format(line=line))
    assert "DT001" not in {one.code for one in result.findings}, result.findings
