"""Numbers that get into dicts, and into objects that are dicts, by ``|=``."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Balance(dict):
    def is_open(self):
        return self.get("d", 1.0) > 0.9 * self.get("g", 1.0)


net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
kept = MADE
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    if ASKED:
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        kept |= {"d": loss.item()}
    kept["g"] = 0.5
"""


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ("Balance()", "kept.is_open()"),
        ("{}", 'kept.get("d", 1.0) > 0.9 * kept.get("g", 1.0)'),
    ],
)
def test_what_is_merged_into_a_dict_is_found_there(made: str, asked: str) -> None:
    """The question was taken for one about samples (PT417)."""
    found = convert(SCRIPT.replace("MADE", made).replace("ASKED", asked))
    assert not found.findings
    assert "reduce_mean(loss).item()" in found.text
