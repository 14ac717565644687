"""Files that are made where they are missing: nobody overtakes the process that makes them."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level

SCRIPT = """\
import os
import urllib.request

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


{functions}


def main():
    torch.manual_seed(0)
    {use}
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for (x,) in DataLoader(TensorDataset(data), batch_size=8, shuffle=True):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


main()
"""
TURN = "    with main_process_first():\n"

EARLY = """\
def fetch(path):
    if os.path.exists(path):
        return path
    urllib.request.urlretrieve("http://data/x", path)
    return path
"""
EARLY_IN_TURN = """\
def fetch(path):
    with main_process_first():
        if os.path.exists(path):
            return path
        urllib.request.urlretrieve("http://data/x", path)
    return path
"""
WRITTEN = """\
def fetch(path):
    if os.path.exists(path):
        return path
    file = open(path, "wb")
    file.write(b"x")
    file.close()
    return path
"""
WRITTEN_IN_TURN = """\
def fetch(path):
    with main_process_first():
        if os.path.exists(path):
            return path
        file = open(path, "wb")
        file.write(b"x")
        file.close()
    return path
"""
ASKED = """\
def there(path):
    return os.path.exists(path)


def fetch(path):
    if there(path):
        return path
    file = open(path, "wb")
    file.write(b"x")
    file.close()
    return path
"""
BOTH_OPENED = """\
def fetch(path):
    if os.path.exists(path):
        return path
    with urllib.request.urlopen("http://data/x") as source, open(path, "wb") as file:
        file.write(source.read())
    return path
"""
BOTH_OPENED_IN_TURN = """\
def fetch(path):
    with main_process_first():
        if os.path.exists(path):
            return path
        with urllib.request.urlopen("http://data/x") as source, open(path, "wb") as file:
            file.write(source.read())
    return path
"""
SEVERAL = """\
def fetch(path):
    for name in ("x", path):
        if os.path.exists(name):
            continue
        urllib.request.urlretrieve("http://data/x", name)
    return path
"""
SEVERAL_IN_TURN = """\
def fetch(path):
    for name in ("x", path):
        with main_process_first():
            if os.path.exists(name):
                continue
            urllib.request.urlretrieve("http://data/x", name)
    return path
"""
ATTEMPT = """\
def fetch(path):
    try:
        return torch.load(path)
    except FileNotFoundError:
        rows = torch.ones(64, 4)
        torch.save(rows, path)
        return rows
"""
ATTEMPT_IN_TURN = """\
def fetch(path):
    with main_process_first():
        try:
            return torch.load(path)
        except FileNotFoundError:
            rows = torch.ones(64, 4)
            torch.save(rows, path)
            return rows
"""
UNLESS_THERE = """\
def fetch(path):
    urllib.request.urlretrieve("http://data/x", path)
    return path
"""
LOAD = "data = torch.load(fetch('rows.pt'))"


def output(functions: str, use: str) -> str:
    result = convert(SCRIPT.format(functions=functions, use=use))
    assert result.text is not None, result.findings
    assert not [each for each in result.findings if each.level is Level.WARNING]
    return result.text


@pytest.mark.parametrize(
    ("functions", "use", "expected"),
    [
        pytest.param(EARLY, LOAD, EARLY_IN_TURN, id="early return"),
        pytest.param(WRITTEN, LOAD, WRITTEN_IN_TURN, id="to the last write"),
        pytest.param(
            ASKED,
            LOAD,
            WRITTEN_IN_TURN.replace("os.path.exists(path)", "there(path)"),
            id="a function that looks for it",
        ),
        pytest.param(BOTH_OPENED, LOAD, BOTH_OPENED_IN_TURN, id="head of a block"),
        pytest.param(SEVERAL, LOAD, SEVERAL_IN_TURN, id="next round"),
        pytest.param(ATTEMPT, "data = fetch('rows.pt')", ATTEMPT_IN_TURN, id="attempt"),
        pytest.param(
            UNLESS_THERE,
            "if not os.path.exists('rows.pt'):\n        fetch('rows.pt')\n"
            "    data = torch.load('rows.pt')",
            TURN + "        if not os.path.exists('rows.pt'):\n            fetch('rows.pt')\n",
            id="test before the call",
        ),
    ],
)
def test_what_decides_is_part_of_the_turn(functions: str, use: str, expected: str) -> None:
    assert expected in output(functions, use)


def test_an_early_exit_that_looks_for_no_file_stays() -> None:
    text = output(EARLY.replace("os.path.exists(path)", 'path == ""'), LOAD)
    assert '    if path == "":\n        return path\n' + TURN in text


def test_turns_never_stand_in_turns() -> None:
    functions = EARLY + (
        "\n\ndef prepare():\n    if os.path.exists('done'):\n        return\n"
        "    fetch('first')\n    open('done', 'w').close()\n"
    )
    use = "prepare()\n    data = torch.load(fetch('rows.pt'))"
    result = convert(SCRIPT.format(functions=functions, use=use))
    assert result.text is not None and result.text.count(TURN) == 1
    assert [each.code for each in result.findings if each.level is Level.WARNING] == ["PT562"]


MAKE = "def make(path):\n    torch.save(torch.ones(64, 4), path)\n    return path\n"
GUARDED = "    if is_main_process():\n        torch.save(torch.ones(64, 4), path)\n"
READ = "\n\ndef read(path):\n    return torch.load(path)\n"


def test_one_statement_that_writes_and_reads_waits_where_it_reads() -> None:
    text = output(MAKE + READ, "data = read(make('rows.pt'))")
    assert GUARDED + "    return path\n" in text
    assert "def read(path):\n    barrier()\n    return torch.load(path)\n" in text


def test_one_statement_that_writes_and_reads_itself_waits_behind_the_write() -> None:
    text = output(MAKE, "data = torch.load(make('rows.pt'))")
    assert GUARDED + "    barrier()\n    return path\n" in text


def test_nobody_waits_in_a_function_that_some_processes_call() -> None:
    use = "data = read(make('rows.pt'))\n    for name in data:\n        read('rows.pt')"
    text = output(MAKE + READ, use)
    assert "def read(path):\n    return torch.load(path)\n" in text
    assert GUARDED + "    barrier()\n    return path\n" in text


LISTED = """\
def write(folder, rows):
    for index in range(4):
        np.save({path}, rows[index::4].numpy())


def read(folder):
    return torch.cat([torch.from_numpy(np.load(each)) for each in sorted({listing})])
"""


@pytest.mark.parametrize(
    ("path", "listing"),
    [
        ("'rows/part_' + str(index) + '.pt'", "glob.glob('./rows/*')"),
        ("'rows/part_' + str(index) + '.pt'", "glob.glob('rows/part_*.pt')"),
        ("f'rows/part_{index}.pt'", "glob.glob('rows/*.pt')"),
        ("'rows/part_{}.pt'.format(index)", "os.listdir('rows')"),
        ("os.path.join('rows', 'new', f'{index}.pt')", "os.listdir('rows')"),
        ("os.path.join(folder, f'{index}.pt')", "os.listdir(folder)"),
    ],
)
def test_every_process_waits_before_it_lists_what_one_process_writes(
    path: str, listing: str
) -> None:
    functions = "import glob\nimport numpy as np\n\n\n" + LISTED.format(path=path, listing=listing)
    text = output(functions, "write('rows', torch.ones(64, 4))\n    data = read('rows')")
    assert "\n    barrier()\n    data = read('rows')\n" in text


@pytest.mark.parametrize("listing", ["glob.glob('row*/x/*.pt')", "glob.glob('others/*.pt')"])
def test_nobody_waits_before_listing_another_folder(listing: str) -> None:
    functions = LISTED.format(path="f'rows/part_{index}.pt'", listing=listing)
    functions = "import glob\nimport numpy as np\n\n\n" + functions
    text = output(functions, "write('rows', torch.ones(64, 4))\n    data = read('rows')")
    assert "\n    barrier()\n    data" not in text
