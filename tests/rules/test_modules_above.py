"""Modules that stand above the script that imports them."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from networks.net import Net

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in DataLoader(TensorDataset(torch.randn(48, 6), torch.randn(48, 6)), batch_size=12):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
NET = """\
from torch import nn


class Net(nn.BatchNorm1d):
    def __init__(self):
        super().__init__(6)
"""


@pytest.mark.parametrize("packaged", [True, False])
@pytest.mark.parametrize("there", [True, False])
def test_modules_beside_the_folder_of_a_script(tmp_path: Path, packaged: bool, there: bool) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "train.py").write_text(TRAIN)
    if packaged:
        (tmp_path / "tools" / "__init__.py").touch()
    if there:
        (tmp_path / "networks").mkdir()
        (tmp_path / "networks" / "__init__.py").touch()
        (tmp_path / "networks" / "net.py").write_text(NET)
    found = convert(TRAIN, path=str(tmp_path / "tools" / "train.py"), folder=tmp_path / "tools")
    named = [each.message for each in found.findings if each.code == "DT007"]
    assert bool(named) is (there and not packaged)
    assert all("'networks' stands at" in message for message in named)


ENTRY = """\
import json
from tracker import Tracker

if __name__ == "__main__":
    Tracker().train()
"""


@pytest.mark.parametrize(("trains", "runs"), [(True, True), (False, True), (True, False)])
def test_a_script_that_trains_through_a_package_above_it_alone(
    tmp_path: Path, trains: bool, runs: bool
) -> None:
    """Nothing in the script itself names a framework."""
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "train.py"
    text = ENTRY if runs else ENTRY.replace("__main__", "tools.train")
    script.write_text(text)
    (tmp_path / "tracker").mkdir()
    (tmp_path / "tracker" / "__init__.py").write_text(
        TRAIN.replace("networks.net", "x") if trains else "import csv\n"
    )
    found = convert(text, path=str(script), folder=tmp_path / "tools")
    codes = [each.code for each in found.findings]
    assert codes == (["DT007", "DT002"] if trains and runs else ["DT002"])
