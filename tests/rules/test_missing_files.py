"""Whether a file is there, kept in a variable by which the script makes it or not."""

from __future__ import annotations

import pytest

from transpile import Outcome, convert

SCRIPT = """\
import os
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

raw = torch.randn(48, 4)
{ask}
{make}
loader = DataLoader(TensorDataset(raw), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in loader:
    loss = (model(x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MAKE = """\
if {test}:
    raw = torch.load("raw.pt")
else:
    torch.save(raw, "raw.pt")
"""
ASKS = [
    ('cached = os.path.exists("raw.pt")', "cached"),
    ('cached = Path("raw.pt").exists()', "cached"),
    ('cached = os.path.isfile("raw.pt") and True', "cached"),
    ('missing = not os.path.exists("raw.pt")', "not missing"),
    ('found = all([os.path.exists(p) for p in ["raw.pt", "more.pt"]])', "found"),
]


def written(ask: str, make: str) -> str:
    """The output."""
    result = convert(SCRIPT.format(ask=ask, make=make))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert result.text is not None
    return result.text


@pytest.mark.parametrize(("ask", "test"), ASKS)
def test_all_take_the_answer_of_rank_0(ask: str, test: str) -> None:
    name, _, asked = ask.partition(" = ")
    text = written(ask, MAKE.format(test=test))
    assert f"{name} = from_main_process({asked})" in text
    assert "main_process_first" not in text


def test_a_test_that_asks_itself_lets_them_take_turns() -> None:
    text = written("pass", MAKE.format(test='os.path.exists("raw.pt")'))
    assert "main_process_first" in text and "from_main_process(" not in text


@pytest.mark.parametrize(
    "make",
    [
        'if cached:\n    raw = torch.load("raw.pt")',
        'if cached:\n    print("there")',
        "print(cached)",
    ],
)
def test_where_nothing_is_made_nothing_is_agreed_on(make: str) -> None:
    assert "from_main_process" not in written('cached = os.path.exists("raw.pt")', make)


CHOSEN = [
    """model = torch.load("m.pt") if os.path.exists("m.pt") else nn.Linear(4, 1)
if model.training:
    torch.save(raw, "raw.pt")
else:
    raw = raw + 1""",
    """settings = dict(resume=os.path.exists("raw.pt"), deep=True)
if settings:
    torch.save(raw, "raw.pt")
else:
    raw = raw + 1""",
]


@pytest.mark.parametrize("make", CHOSEN)
def test_what_is_chosen_by_the_answer_is_sent_to_nobody(make: str) -> None:
    assert "from_main_process(" not in written("pass", make)


ALONE = [
    """there = os.path.exists("raw.pt")
if not there:
    torch.save(raw, "raw.pt")""",
    """if len(raw) > 3:
    there = os.path.exists("raw.pt")
    if not there:
        torch.save(raw, "raw.pt")""",
    """def log(row):
    fresh = not os.path.exists("log.csv")
    with open("log.csv", "a") as file:
        if fresh:
            file.write("loss")
        file.write(row)
log("1")""",
    """if not os.path.exists("a.pt"):
    other = os.path.exists("b.pt")
    if not other:
        torch.save(raw, "b.pt")
    torch.save(raw, "a.pt")""",
]


@pytest.mark.parametrize("make", ALONE)
def test_what_one_process_does_alone_it_asks_for_alone(make: str) -> None:
    assert "from_main_process(" not in written("pass", make)
