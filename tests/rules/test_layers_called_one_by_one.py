"""Models of which only methods are called, and in them their layers one after the other."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    def log_prob(self, x):
        for {names} in {layers}:
            x = layer(x)
        return -x.pow(2).sum(1)


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=0.1)
loader = DataLoader(torch.randn(60, 2), batch_size=12, shuffle=True)
for batch in loader:
    loss = -flow.log_prob(batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        ("layer", "self.layers"),
        ("layer", "reversed(self.layers)"),
        ("i, layer", "enumerate(self.layers)"),
        ("layer, i", "zip(self.layers, range(3))"),
    ],
)
def test_a_loss_of_layers_in_a_list_trains_their_model(names: str, layers: str) -> None:
    result = convert(SCRIPT.format(names=names, layers=layers))
    assert result.outcome is Outcome.CONVERTED
    assert "average_gradients(optimizer)\noptimizer.step()" in result.text.replace("    ", "")
