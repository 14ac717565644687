"""Models whose parts are exchanged, or that are copied by hand, while they are trained."""

from __future__ import annotations

from data_way import convert

from transpile import Outcome

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(36, 3)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=12)
model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)


def forward(x):
    return model(x)


for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(forward(x), y).backward()
        optimizer.step()
"""


def refused_for(script: str) -> set[str]:
    """The codes of the errors of a script that is refused."""
    result = convert(script.encode())
    assert result.outcome is Outcome.REFUSED
    return {finding.code for finding in result.findings if finding.level.label == "error"}


def test_parts_that_are_exchanged_during_the_training() -> None:
    exchange = (
        "    if model[0].weight.grad.abs().sum() < 1:\n"
        '        model._modules["0"] = nn.Linear(3, 4)\n'
    )
    assert "PT316" in refused_for(SCRIPT + exchange)


def test_parts_that_are_exchanged_before() -> None:
    script = SCRIPT.replace("optimizer =", 'model._modules["0"] = nn.Linear(3, 4)\noptimizer =', 1)
    assert convert(script.encode()).outcome is Outcome.CONVERTED


def test_copies_on_several_gpus() -> None:
    script = SCRIPT.replace(
        "    return model(x)",
        "    if torch.cuda.device_count() < 2:\n"
        "        return model(x)\n"
        "    gpus = list(range(torch.cuda.device_count()))\n"
        "    copies = nn.parallel.replicate(model, gpus)\n"
        "    parts = nn.parallel.parallel_apply(copies, nn.parallel.scatter(x, gpus))\n"
        "    return nn.parallel.gather(parts, 0)",
    )
    assert "PT813" in refused_for(script)
