"""Tests for the end of the process group where files are read behind the training's function."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Options, Outcome

SCRIPT = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(96, 3), torch.randn(96, 1))
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=12):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    model = main()
"""
READ_BACK = """\
    torch.save(model.state_dict(), "model.pth")
    model = nn.Linear(3, 1)
    model.load_state_dict(torch.load("model.pth"))
    print(model)
"""


def test_the_group_outlives_waits_behind_the_function_that_joined_it() -> None:
    """A barrier without a process group holds nobody up: others read what is not written yet."""
    found = convert(SCRIPT + READ_BACK)
    assert found.outcome is Outcome.CONVERTED
    guarded = found.text.partition('if __name__ == "__main__":\n    model = main()')[2]
    assert guarded.index("barrier()") < guarded.index("cleanup_distributed()")
    assert found.text.count("    cleanup_distributed()\n") == 1
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_else_it_ends_with_the_function_that_joined_it() -> None:
    found = convert(SCRIPT)
    assert "    cleanup_distributed()\n    return model\n" in found.text


def test_what_others_may_still_read_is_not_removed_without_a_word() -> None:
    text = """\
import shutil

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dataset = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
loader = DataLoader(dataset, batch_size=6, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "temporary/best.pt")
    best = torch.load("temporary/best.pt")
    shutil.rmtree("temporary")
"""
    result = convert(text.encode(), path="train.py")
    assert [finding.line for finding in result.findings if finding.code == "PT573"] == [20]
    earlier = text.replace('    shutil.rmtree("temporary")\n', "").replace(
        "for epoch in range(2):\n", 'for epoch in range(2):\n    shutil.rmtree("temporary")\n'
    )
    result = convert(earlier.encode(), path="train.py")
    assert "PT573" not in {finding.code for finding in result.findings}


PLUGINS = """\
import json
import pathlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

OUT = pathlib.Path("run.json")
DEFINED

def main():
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    for epoch in range(3):
        for xb, yb in DataLoader(TensorDataset(x, x[:, :1]), batch_size=16):
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
        with torch.no_grad():
            val = nn.functional.mse_loss(net(x), x[:, :1]).item()
        CALLED
BEHIND

main()
"""
WRITE = 'OUT.write_text(json.dumps({"val": val}))\n'
READ = 'opt.param_groups[0]["lr"] = 0.1 / (1 + json.loads(OUT.read_text())["val"])\n'
DERIVED = """
class Plugin:
    registry = []

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Plugin.registry.append(cls)
"""
CLASSES = f"""

class Write(BASE):
    def epoch(self, opt, val):
        {WRITE}

class Read(BASE):
    def epoch(self, opt, val):
        {READ}"""
FUNCTIONS = f"""
@MARK
def write(opt, val):
    {WRITE}
@MARK
def read(opt, val):
    {READ}"""
DECORATOR = """
HOOKS = {}


def on(event):
    def deco(fn):
        HOOKS.setdefault(event, []).append(fn)
        return fn

    return deco

"""
WAYS_TO_CALL = {
    "classes that are derived": (
        DERIVED + CLASSES.replace("BASE", "Plugin"),
        "for cls in Plugin.registry:\n            cls().epoch(opt, val)",
    ),
    "objects of a list": (
        CLASSES.replace("BASE", "object"),
        "for plugin in (Write(), Read()):\n            plugin.epoch(opt, val)",
    ),
    "objects of a comprehension": (
        CLASSES.replace("BASE", "object"),
        "[plugin.epoch(opt, val) for plugin in (Write(), Read())]",
    ),
    "functions of a list": (
        FUNCTIONS.replace("@MARK", ""),
        "for hook in [write, read]:\n            hook(opt, val)",
    ),
    "functions that are marked": (
        DECORATOR + FUNCTIONS.replace("@MARK", '@on("epoch")'),
        'for hook in HOOKS["epoch"]:\n            hook(opt, val)',
    ),
    "functions of a list, the reading one first": (
        FUNCTIONS.replace("@MARK", ""),
        "for hook in [read, write] if epoch else [write]:\n            hook(opt, val)",
    ),
}


def plugins(defined: str, called: str, behind: str = "") -> str:
    """A script whose registry holds what writes a file and what reads it."""
    text = PLUGINS.replace("DEFINED", defined).replace("CALLED", called)
    return text.replace("BEHIND", behind)


@pytest.mark.parametrize("name", WAYS_TO_CALL)
def test_all_wait_in_what_reads_where_one_call_enters_both(name: str) -> None:
    """The functions of a registry are called in one place, before which a barrier is of no use."""
    defined, called = WAYS_TO_CALL[name]
    found = convert(plugins(defined, called))
    lines = [line.strip() for line in found.text.splitlines()]
    reads = [place for place, line in enumerate(lines) if "OUT.read_text()" in line]
    reading = next(place for place, line in enumerate(lines) if '"lr"] =' in line)
    assert reads and lines[reading - 1] == "barrier()"
    assert lines.count("barrier()") == 1


def test_where_what_reads_is_called_in_other_loops_too_it_is_told() -> None:
    defined, called = WAYS_TO_CALL["functions of a list"]
    behind = "    for times in range(len(OUT.name)):\n        read(opt, val)\n"
    found = convert(plugins(defined, called, behind))
    assert "PT574" in {finding.code for finding in found.findings}


TWO_FILES = """\
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def write(path, rows):
    with open(path, "w") as out:
        out.write(" ".join(str(row) for row in rows))


def read(path):
    with open(path) as lines:
        return torch.tensor([float(word) for word in lines.read().split()]).reshape(-1, 3)


def rows_of(first, second):
    return read(first), read(second)


def train(model, optimizer):
    FIRST
    rows = torch.cat(rows_of("kept.txt", "made.txt"))
    loader = DataLoader(TensorDataset(rows), batch_size=16)
    for (x,) in loader:
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    LAST


if __name__ == "__main__":
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    write("kept.txt", torch.randn(48).tolist())
    write("made.txt", torch.randn(48).tolist())
    for step in range(3):
        train(model, optimizer)
"""
MADE = 'write("made.txt", torch.randn(48).tolist())'


@pytest.mark.parametrize("place", ["FIRST", "LAST"])
def test_a_wait_for_one_file_is_none_for_another_that_is_written_behind_it(place: str) -> None:
    """The first barrier stands before the loop, in whose rounds the other file is made."""
    text = TWO_FILES.replace(place, MADE).replace("FIRST", "pass").replace("LAST", "pass")
    found = convert(text.encode(), path="train.py")
    assert found.outcome is Outcome.CONVERTED
    body = found.text[found.text.index("def train(") : found.text.index("if __name__ ==")]
    if place == "FIRST":
        assert body.index(MADE) < body.index("barrier()") < body.index("rows_of(")
    else:
        loop = found.text[found.text.index("for step in") :]
        assert "barrier()" in body or "barrier()" in loop.partition("cleanup_distributed()")[0]
