"""A batch size that is written down before the processes join is divided where they know it."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Outcome, Result

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{first}


def main({parameters}):
    data = TensorDataset(torch.randn(48, 6), torch.randn(48, 6))
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in DataLoader(data, {given}):
            loss = nn.functional.mse_loss(model(x){term}, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


main()
"""


def result(first: str, given: str, parameters: str = "", term: str = "") -> Result:
    return convert(SCRIPT.format(first=first, given=given, parameters=parameters, term=term))


@pytest.mark.parametrize(
    ("first", "name", "parameters"),
    [
        ("options = dict(batch_size=16)", "options", ""),
        ("class Config:\n    options = {'batch_size': 16}", "Config.options", ""),
        ("pass", "options", "options=dict(batch_size=16)"),
        (
            "def made():\n    return dict(batch_size=int('16'))\n\n\noptions = made()",
            "options",
            "",
        ),
    ],
)
def test_a_dict_of_before_is_copied_where_the_loader_is_made(
    first: str, name: str, parameters: str
) -> None:
    found = result(first, f"**{name}", parameters)
    assert found.outcome is Outcome.CONVERTED
    assert f'**{{**{name}, "batch_size": split_batch({name}["batch_size"])}}' in found.text
    assert "batch_size=split_batch(" not in found.text
    assert "'batch_size': split_batch(" not in found.text


def test_a_dict_of_the_same_function_is_divided_in_its_place() -> None:
    text = SCRIPT.format(first="pass", given="**options", parameters="", term="")
    text = text.replace("    data =", "    options = dict(batch_size=16)\n    data =")
    assert "options = dict(batch_size=split_batch(16))" in convert(text).text


def test_a_shape_of_before_is_refused() -> None:
    found = result(
        "SIZE = 16\nones = torch.ones(SIZE, 6)", "batch_size=SIZE, drop_last=True", term=" * ones"
    )
    assert "PT224" in [each.code for each in found.findings if each.level is Level.ERROR]
