"""Tensors of samples with different numbers of axes, which broadcasting lays across each other."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


x = torch.randn(64, 4)
columns = x @ torch.tensor([[1.0], [-2.0], [0.5], [0.0]]) + torch.randn(64, 1)
flat = columns[:, 0]
weights = torch.rand(64)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(x, columns, flat, weights)
each = nn.MSELoss(reduction="none")
for xb, cb, fb, wb in DataLoader(data, batch_size=16):
    out = net(xb)
    loss = LOSS
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
MEETING = [
    "F.mse_loss(out, fb)",
    "nn.L1Loss()(out, fb)",
    "((out - fb) ** 2).mean()",
    "(F.mse_loss(out, cb, reduction='none') * wb).mean()",
    "(each(out, cb) * wb).mean()",
    "torch.where(fb > 0, out, cb).mean()",
    "F.mse_loss(out.unsqueeze(2), cb)",
]
APART = [
    "F.mse_loss(out, cb)",
    "F.mse_loss(out.squeeze(1), fb)",
    "F.mse_loss(out[:, 0], fb)",
    "((out.view(-1) - fb) ** 2).mean()",
    "(F.mse_loss(out, cb, reduction='none') * wb[:, None]).mean()",
    "(each(out, cb).mean(1) * wb).mean()",
    "F.mse_loss(out, fb.unsqueeze(-1))",
    "(out * torch.ones(4) - cb).pow(2).mean()",
]


@pytest.mark.parametrize("loss", MEETING)
def test_samples_that_meet_all_others_are_told(loss: str) -> None:
    """PyTorch warns at most; the processes averaged other pairs in silence."""
    found = [one for one in convert(SCRIPT.replace("LOSS", loss)).findings if one.code == "PT403"]
    assert len(found) == 1
    assert "each sample meets all" in found[0].message


@pytest.mark.parametrize("loss", APART)
def test_samples_that_meet_their_own_are_not(loss: str) -> None:
    assert not convert(SCRIPT.replace("LOSS", loss)).findings
