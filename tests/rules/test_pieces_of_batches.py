"""Losses of samples that are taken out of a batch by their place."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,))), batch_size=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for batch in loader:
    x, y = batch
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()
"""


def codes(loss: str) -> list[str]:
    """The codes of all findings on a script with that loss."""
    return [finding.code for finding in convert(SCRIPT.format(loss=loss).encode()).findings]


@pytest.mark.parametrize(
    "loss",
    [
        "loss = criterion(model(x[:6]), y[:6])",
        "loss = criterion(model(x)[2:], y[2:])",
        "half = len(x) // 2; loss = ((model(x[:half]) - model(x[half:])) ** 2).mean()",
    ],
)
def test_places_hold_other_samples_in_a_share(loss: str) -> None:
    assert "PT403" in codes(loss)


@pytest.mark.parametrize(
    "loss",
    [
        "loss = criterion(model(x[: x.size(0)]), y)",
        "loss = criterion(model(x[:, :4]), y)",
        "z = model(torch.cat([x, x + 1])); half = len(z) // 2; loss = criterion(z[:half], y)",
        "x, y = batch[:2]; loss = criterion(model(x), y)",
    ],
)
def test_other_pieces_hold_the_same(loss: str) -> None:
    assert "PT403" not in codes(loss)


def test_a_mask_among_several_indices_picks_samples() -> None:
    loss = (
        "some = y > 0; p = model(x)[some, :]; t = x[some, :2]; "
        'loss = nn.functional.mse_loss(p, t, reduction="sum") / t.size(0)'
    )
    assert "PT403" in codes(loss)


def test_a_mean_over_samples_that_a_mask_picks_is_one_over_all_processes() -> None:
    loss = "some = y > 0; loss = (model(x)[some, :] ** 2).mean()"
    text = convert(SCRIPT.format(loss=loss).encode()).text
    assert text is not None and "loss = selected_mean(model(x)[some, :] ** 2)\n" in text


def test_positions_among_several_indices_pick_from_each_sample() -> None:
    assert "PT403" not in codes(
        "loss = -torch.log_softmax(model(x), 1)[torch.arange(x.size(0)), y].mean()"
    )


@pytest.mark.parametrize(
    ("model", "loss", "said"),
    [
        ("torchvision.models.inception_v3()", "out, aux = model(x); loss = criterion(out, y)", 0),
        ("torchvision.models.googlenet()", "out = model(x)[0]; loss = criterion(out, y)", 0),
        ("torchvision.models.resnet18()", "out = model(x)[0]; loss = criterion(out, y[0])", 1),
        ("nn.GRU(4, 2)", "out, state = model(x); loss = criterion(out[:, -1], y)", 0),
        ("nn.Sequential(nn.Linear(4, 2))", "out = model(x)[0]; loss = criterion(out, y[0])", 1),
    ],
)
def test_models_that_give_several_tensors_are_told_from_others(
    model: str, loss: str, said: int
) -> None:
    source = SCRIPT.format(loss=loss).replace("nn.Linear(4, 2)", model)
    found = convert(source.replace("import torch\n", "import torch\nimport torchvision\n").encode())
    assert [finding.code for finding in found.findings].count("PT403") == said
