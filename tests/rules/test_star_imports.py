"""Scripts that take the framework out of a star import of a module that cannot be found."""

from __future__ import annotations

from data_way import convert

SCRIPT = """\
import torch.nn as nn
from torch import optim
from torch.utils.data import DataLoader

from networks import *

loader = DataLoader(Samples(), batch_size=8)
model = Network()
optimizer = optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


def test_what_the_framework_writes_is_written_once() -> None:
    source = SCRIPT.replace("Samples()", "samples").replace("Network()", "nn.Linear(3, 1)")
    text = convert(source.encode()).text
    assert "if is_main_process():\n    torch.save(unwrap(model).state_dict()" in text
