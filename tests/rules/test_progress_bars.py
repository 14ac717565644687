"""Progress bars that nothing switches off, and what they show."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{imported}

loader = DataLoader(TensorDataset(torch.randn(32, 6), torch.randn(32, 1)), batch_size=8)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
bar = {bar}
for i, (x, y) in enumerate(loader):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bar.suffix = f"{{i}}: loss {{loss.item():.4f}}"
    bar.next()
"""


@pytest.mark.parametrize(
    ("imported", "bar"),
    [
        ("from progress.bar import Bar", 'Bar("Training", max=len(loader))'),
        ("from progress.spinner import MoonSpinner", "MoonSpinner()"),
        ("import progressbar", "progressbar.ProgressBar(max_value=len(loader))"),
    ],
)
def test_bars_without_a_switch_are_told(imported: str, bar: str) -> None:
    result = convert(SCRIPT.format(imported=imported, bar=bar))
    (found,) = [one for one in result.findings if one.code == "PT532"]
    assert "no argument of it switches it off" in found.message
    assert "tqdm" in found.advice
    assert "loss {reduce_mean(loss).item():.4f}" in result.text


def test_bars_with_a_switch_are_switched_off() -> None:
    result = convert(SCRIPT.format(imported="import tqdm", bar="tqdm.tqdm(total=len(loader))"))
    assert "disable=not is_main_process()" in result.text
    assert "PT532" not in {one.code for one in result.findings}
