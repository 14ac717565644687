"""Tables, arrays and pictures that write themselves, and numbers made ahead of what is written."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import xml.etree.ElementTree as ET
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

{before}
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 4)
for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
    out = net(xb)
    loss = nn.functional.mse_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    {body}
{after}
"""
#: What is made before the training, what the loop puts into it, and how it is written.
TABLES = {
    "rows": (
        "rows = []",
        'rows.append({"loss": loss.item()})',
        'pd.DataFrame(rows).to_csv("a.csv")',
    ),
    "rows of a frame": (
        "table = pd.DataFrame(columns=['loss'])",
        "table.loc[len(table)] = [loss.item()]",
        'table.to_csv("a.csv")',
    ),
    "joined frames": (
        "table = pd.DataFrame()",
        'table = pd.concat([table, pd.DataFrame({"loss": [loss.item()]})])',
        'table.to_json("a.json")',
    ),
    "columns": (
        "table = pd.DataFrame()",
        "table.insert(0, str(len(table.columns)), [loss.item()])",
        'table.to_excel("a.xlsx")',
    ),
    "series": (
        "table = pd.DataFrame()",
        'table = table._append(pd.Series({"loss": loss.item()}))',
        "print(table.describe())",
    ),
    "an array": ("table = np.zeros(4)", "table[0] = loss.item()", 'table.tofile("a.bin")'),
}


def script(before: str, body: str, after: str) -> str:
    """A training with something before it, in its loop, and behind it."""
    return SCRIPT.format(before=before, body=body, after=after)


@pytest.mark.parametrize("name", TABLES)
def test_what_a_table_is_filled_with_is_of_all_processes(name: str) -> None:
    """The numbers of the first process's share were written in silence."""
    before, body, after = TABLES[name]
    found = convert(script(before, body, after))
    assert body.replace("loss.item()", "reduce_mean(loss).item()") in found.text
    assert not found.findings


def test_lists_wait_until_an_array_of_them_is_written() -> None:
    text = convert(
        script("losses = []", "losses.append(loss.item())", 'np.array(losses).tofile("a.bin")')
    ).text
    assert "losses[:] = average_numbers(*losses)" in text


def test_samples_in_a_table_are_told() -> None:
    found = convert(
        script("seen = []", "seen.extend(out.tolist())", 'pd.DataFrame(seen).to_csv("a.csv")')
    )
    assert [finding.code for finding in found.findings] == ["PT603"]


def test_samples_that_are_shown_as_a_picture_are_noted() -> None:
    after = 'Image.fromarray(out.detach().numpy()).save("a.png")'
    assert [finding.code for finding in convert(script("", "pass", after)).findings] == ["PT604"]


@pytest.mark.parametrize(
    "write", ['ET.ElementTree(root).write("a.xml")', 'np.zeros(2).dump("a.npy")']
)
def test_what_writes_itself_is_written_once(write: str) -> None:
    lines = convert(script('root = ET.Element("r")', "pass", write)).text.splitlines()
    method = write.rpartition(").")[2]
    position = next(at for at, line in enumerate(lines) if line.strip().endswith(method))
    assert lines[position - 1] == "if is_main_process():"


def test_texts_of_a_table_are_no_files() -> None:
    text = convert(script("", "pass", "text = pd.DataFrame().to_json(orient='records')")).text
    assert "\ntext = pd.DataFrame().to_json(orient='records')" in text


def test_numbers_are_made_before_what_holds_them_is_bound() -> None:
    """At the margin of a module both stood in the wrong order: each process stopped there."""
    after = 'torch.save({"loss": loss, "error": (out - yb).abs().mean()}, "a.pt")'
    lines = convert(script("", "pass", after)).text.splitlines()
    made = next(at for at, line in enumerate(lines) if line.startswith("loss_mean, "))
    bound = next(at for at, line in enumerate(lines) if line.startswith("value = {"))
    assert made < bound
