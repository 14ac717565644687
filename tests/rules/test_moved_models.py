"""Models that leave for another device and come back while they train: a wrap would lose them."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

args = argparse.ArgumentParser().parse_args()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(TensorDataset(torch.randn(48, 3), torch.randn(48, 1)), batch_size=12)
model = nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    {above}
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()
    {below}
{behind}
"""


def converted(above: str = "pass", below: str = "pass", behind: str = "pass") -> str:
    """What becomes of the script with some places filled."""
    found = convert(SCRIPT.format(above=above, below=below, behind=behind).encode())
    assert found.outcome is Outcome.CONVERTED, found.findings
    assert found.text
    return found.text


@pytest.mark.parametrize(
    "below",
    [
        "model.cpu(); torch.save(model.state_dict(), 'w.pt'); model.to(device)",
        "torch.save(model.to('cpu').state_dict(), 'w.pt'); model.cuda()",
        "model.eval().to(torch.device('cpu')); model.train().to(device)",
        "model.double(); print(model(torch.zeros(1, 3).double())); model.float()",
    ],
)
def test_a_model_that_leaves_and_comes_back_is_averaged_by_hand(below: str) -> None:
    text = converted(below=below)
    assert "average_gradients(optimizer)" in text
    assert "DistributedDataParallel" not in text


@pytest.mark.parametrize(
    "places",
    [
        {"behind": "model.cpu(); torch.save(model.state_dict(), 'w.pt')"},
        {"below": "model.train().to(device)"},
        {"below": "weights = {k: v.cpu() for k, v in model.state_dict().items()}"},
        {"below": "import copy; copied = copy.deepcopy(model).cpu(); model.to(device)"},
    ],
)
def test_a_model_that_stays_where_it_trains_is_wrapped(places: dict[str, str]) -> None:
    text = converted(**places)
    assert "DistributedDataParallel(model" in text
    assert "average_gradients" not in text
