"""Data sets that keep something of the samples that they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from transpile import Options, convert

Way = Literal["auto", "data", "calls"]
SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

class Rows(Dataset):
    def __init__(self):
        self.x = torch.randn(32, 4)
        self.hits, self.seen, self.cache, self.file = 0, [], {{}}, None
        self.last = torch.zeros(4)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        {kept}

data = Rows()
loader = DataLoader(data, batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x in loader:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {read}
torch.save(model.state_dict(), "model.pt")
"""
SAMPLE = "return self.x[index]"


def codes(kept: list[str], read: str, way: Way) -> set[str]:
    """The codes of all findings."""
    text = SCRIPT.format(kept="\n        ".join([*kept, SAMPLE]), read=read)
    return {one.code for one in convert(text, Options(shard=way)).findings}


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("self.hits += 1", "print(data.hits)"),
        ("self.hits += 1", "if data.hits > 40: optimizer.param_groups[0]['lr'] = 0.01"),
        ("self.seen.append(index)", "print(len(data.seen))"),
        ("self.cache[index] = self.x[index]", "print(len(data.cache))"),
        ("self.last = self.x[index] - 0.5 * self.last", "pass"),
    ],
)
def test_what_a_data_set_keeps_is_of_a_share(kept: str, read: str) -> None:
    """Every process asks for other samples, unless each loads all."""
    assert "PT229" in codes([kept], read, "data")
    assert codes([kept], read, "auto") == {"DT015"}


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        (["self.hits += 1"], "print(len(data))"),
        (["self.cache[index] = self.x[index]"], "print(data.x.mean())"),
        (["if self.file is None:", "    self.file = open('rows.txt')"], "pass"),
        (["self.last = self.x[index]", "print(self.last) if index < 0 else None"], "pass"),
    ],
)
def test_what_nobody_else_reads_is_left_alone(kept: list[str], read: str) -> None:
    """A cache, a file that is opened late, and an attribute in the place of a name."""
    assert "PT229" not in codes(kept, read, "data")


COLLATED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(32, 4), torch.arange(32) % 5)
seen = []

def collate(samples):
    {line}
    return [torch.stack(parts) for parts in zip(*{rows})]

loader = DataLoader(data, batch_size=8, collate_fn=collate)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
{read}
"""


@pytest.mark.parametrize(
    ("line", "rows", "read", "code"),
    [
        ("seen.extend(samples)", "samples", "print(len(seen))", "PT229"),
        ("seen.extend(samples)", "samples", "pass", ""),
        ("kept = {int(one[1]): one for one in samples}", "kept.values()", "pass", "PT220"),
        (
            "kept = {}\n    for one in samples:\n        kept.setdefault(int(one[1]), one)",
            "kept.values()",
            "pass",
            "PT220",
        ),
        ("kept = list(samples)", "kept", "pass", ""),
    ],
)
def test_collate_functions_are_looked_at(line: str, rows: str, read: str, code: str) -> None:
    """What they keep is of a share, and what they drop depends on the samples beside."""
    text = COLLATED.format(line=line, rows=rows, read=read)
    found = {one.code for one in convert(text, Options(shard="data")).findings}
    assert (code in found) if code else not found & {"PT229", "PT220"}


@pytest.mark.parametrize(
    "kept",
    [
        ["row = torch.add(self.x[index], 1)"],
        ["self.file = self.file or open('rows.txt')"],
        ["self.file = open('rows.txt') if self.file is None else self.file"],
    ],
)
def test_functions_of_modules_and_late_files_keep_nothing(kept: list[str]) -> None:
    """What a module is called by is no container, and a file no sample."""
    assert "PT229" not in codes(kept, "print(torch.get_default_dtype())", "data")


def test_a_generator_may_be_made_in_another_module_than_the_data_set(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("""\
import torch
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self, rng):
        self.rng = rng

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.ones(3) * self.rng.random(), torch.ones(1)
""")
    script = tmp_path / "train.py"
    script.write_text("""\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader

from data import Noisy

torch.manual_seed(0)
loader = DataLoader(Noisy(random.Random(0)), batch_size=8)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
""")
    found = convert(script.read_bytes(), Options(shard="data"), path=str(script)).findings
    assert "PT229" in [each.code for each in found]
