"""A model that an option asks for is wrapped where there is one."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 4)), batch_size=8)
model = nn.Linear(4, 4)
{fine}
parameters = list(model.parameters())
if fine is not None:
    parameters += list(fine.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)
for x, y in loader:
    out = model(x)
    if fine is not None:
        out = fine(out)
    optimizer.zero_grad()
    nn.functional.mse_loss(out, y).backward()
    optimizer.step()
"""
ASKED = "'--fine' in sys.argv"


@pytest.mark.parametrize(
    ("fine", "may_be_none"),
    [
        (f"fine = None\nif {ASKED}:\n    fine = nn.Linear(4, 4)", True),
        (f"if {ASKED}:\n    fine = nn.Linear(4, 4)\nelse:\n    fine = None", True),
        (f"fine = nn.Linear(4, 4) if {ASKED} else None", True),
        (f"fine = nn.Linear(4, 4)\nif not {ASKED}:\n    fine = None", True),
        ("fine = None\nfine = nn.Linear(4, 4)", False),
        (f"if {ASKED}:\n    fine = nn.Linear(4, 4)\nelse:\n    fine = nn.Linear(4, 4)", False),
        ("fine = nn.Linear(4, 4)", False),
    ],
)
def test_only_what_is_there_is_wrapped(fine: str, may_be_none: bool) -> None:
    text = convert(SCRIPT.format(fine=fine)).text
    assert "    fine = DistributedDataParallel(fine" in text
    guarded = "if get_world_size() > 1 and fine is not None:\n    fine = Dist" in text
    assert guarded is may_be_none
    assert "> 1 and model is not None" not in text


HELD = """\
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, wanted):
        self.model = nn.Linear(4, 4)
        self.fine = {fine}
        parameters = list(self.model.parameters())
        if self.fine is not None:
            parameters += list(self.fine.parameters())
        self.optimizer = torch.optim.SGD(parameters, lr=0.1)

    def train(self, loader):
        for x, y in loader:
            out = self.model(x)
            if self.fine is not None:
                out = self.fine(out)
            self.optimizer.zero_grad()
            nn.functional.mse_loss(out, y).backward()
            self.optimizer.step()


data = TensorDataset(torch.randn(32, 4), torch.randn(32, 4))
Trainer("--fine" in sys.argv).train(DataLoader(data, batch_size=8))
"""


@pytest.mark.parametrize(
    ("fine", "may_be_none"),
    [("nn.Linear(4, 4) if wanted else None", True), ("nn.Linear(4, 4)", False)],
)
def test_only_what_an_object_holds_is_wrapped(fine: str, may_be_none: bool) -> None:
    text = convert(HELD.format(fine=fine)).text
    assert "self.fine = DistributedDataParallel(self.fine" in text
    assert ("if get_world_size() > 1 and self.fine is not None:" in text) is may_be_none
    assert "and self.model is not None" not in text
