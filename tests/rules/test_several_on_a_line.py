"""Lines with several statements: what is put before one of them reads what the others made."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(48, 3)
LOADER
model = nn.Linear(3, 1); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    INNER
"""


def converted(loader: str, inner: str = "pass") -> str:
    """The lines of the output behind the seed."""
    script = SCRIPT.replace("LOADER", loader).replace("INNER", inner)
    return convert(script.encode()).text.partition("torch.manual_seed(0)\n")[2]


def test_data_set_is_made_behind_what_stands_before_the_loader() -> None:
    text = converted(
        "x = x * 2; y = x.sum(1); loader = DataLoader(TensorDataset(x, y), 8, shuffle=True); n = 1"
    )
    assert "x = x * 2; y = x.sum(1)\ntrain_dataset = TensorDataset(x, y)\n" in text
    assert text.index("DistributedSampler(train_dataset") < text.index("loader = DataLoader(")
    assert "; n = 1\n" in text


def test_sampler_stands_behind_its_data_set() -> None:
    text = converted("data = TensorDataset(x, x); loader = DataLoader(data, 8, shuffle=True)")
    assert text.index("data = TensorDataset(x, x)\n") < text.index("DistributedSampler(data")


def test_first_of_a_line_keeps_the_rest_behind_it() -> None:
    text = converted("loader = DataLoader(TensorDataset(x, x), 8, shuffle=True); n = 1")
    assert "x = torch.randn(48, 3)\ntrain_dataset = TensorDataset(x, x)\n" in text
    assert "; n = 1\n" in text


def test_data_set_drawn_within_a_line_is_drawn_alike() -> None:
    text = converted(
        "loader = DataLoader(TensorDataset(x, x), 8, shuffle=True)",
        "m = 48; loader = DataLoader(TensorDataset(torch.randn(m, 3), x), 8, shuffle=True)",
    )
    opening = "    with shared_randomness():\n        m = 48\n        train_dataset_2 = "
    assert f"{opening}TensorDataset(torch.randn(m, 3), x)\n" in text


@pytest.mark.parametrize("depth", [0, 4])
def test_wait_stands_between_a_write_and_a_read(depth: int) -> None:
    line = 'torch.save(model.state_dict(), "m.pt"); read = torch.load("m.pt")'
    loader = "loader = DataLoader(TensorDataset(x, x), 8, shuffle=True)"
    text = converted(loader, line) if depth else converted(loader, f"pass\n{line}")
    indent = " " * depth
    assert f"""\
{indent}if is_main_process():
{indent}    torch.save(unwrap(model).state_dict(), "m.pt")
{indent}barrier()
{indent}read = torch.load("m.pt")
""" in text
