"""Scripts whose command line names the function to run, as fire does."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(**options):
    loader = DataLoader(TensorDataset(torch.randn(64, 3), torch.randn(64, 1)), batch_size=8)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        report(model)


def report(model):
    print(sum(p.sum() for p in model.parameters()))


def test(**options):
    model = nn.Linear(3, 1).cuda()
    report(model)


if __name__ == "__main__":
    import fire

    {fire}
"""


@pytest.mark.parametrize(
    "fire", ["fire.Fire()", "fire.Fire({'train': train, 'test': test})", "fire.Fire(train)"]
)
def test_the_command_that_trains_is_converted(fire: str) -> None:
    result = convert(SCRIPT.replace("{fire}", fire))
    assert result.outcome is Outcome.CONVERTED
    assert "    setup_distributed()\n" in result.text
    assert "        model = DistributedDataParallel(model)\n" in result.text
    assert "    cleanup_distributed()\n" in result.text
