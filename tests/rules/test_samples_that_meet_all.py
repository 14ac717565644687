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


READ = """\
import pandas as pd
import torch
import torch.nn as nn
from sklearn.datasets import fetch_california_housing, make_regression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

frame = pd.read_csv("houses.csv").dropna()
houses = fetch_california_housing()
rows, prices = make_regression(n_samples=64, n_features=8)
train, test, wanted, others = train_test_split(rows, prices, random_state=0)
scaler = StandardScaler()
x = torch.tensor(ROWS, dtype=torch.float32)
y = torch.tensor(TARGETS, dtype=torch.float32)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
criterion = nn.MSELoss()
for xb, yb in DataLoader(TensorDataset(x, y), batch_size=16):
    loss = criterion(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
#: Rows and targets of libraries' data, and whether targets have columns.
TABLES = [
    ('frame.drop(columns=["price"]).values', 'frame["price"].values', False),
    ("frame.iloc[:, :-1].values", "frame.iloc[:, -1].to_numpy()", False),
    ("frame[:50].values", "frame.price[:50].values", False),
    ("houses.data", "houses.target", False),
    ("rows", "prices", False),
    ("scaler.fit_transform(train)", "wanted", False),
    ('frame.drop(columns=["price"]).values', 'frame[["price"]].values', True),
    ("frame.iloc[:, :-1].values", "frame.iloc[:, -1:].values", True),
    ("rows", "prices.reshape(-1, 1)", True),
    ("scaler.fit_transform(train)", "wanted[:, None]", True),
]


@pytest.mark.parametrize(("rows", "targets", "columns"), TABLES)
def test_axes_of_what_libraries_read_are_known(rows: str, targets: str, columns: bool) -> None:
    text = READ.replace("ROWS", rows).replace("TARGETS", targets)
    assert [one.code for one in convert(text).findings] == ([] if columns else ["PT403"])
