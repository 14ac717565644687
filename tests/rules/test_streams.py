"""Batches that are pieces of streams."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result

SCRIPT = """\
import random

import numpy as np
import torch
import torch.nn as nn

batch_size, length = 8, 5
torch.manual_seed(0)
symbols = torch.arange(400) % 7


def fold(data, size):
    data = data[: len(data) // size * size]
    return {fold}


streams = fold(symbols, batch_size)
{more}
embedding, rnn, out = nn.Embedding(7, 4), nn.GRU(4, 4), nn.Linear(4, 7)
model = nn.ModuleList([embedding, rnn, out])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn, self.out = embedding, rnn, out

    def forward(self, x, h):
        y, h = self.rnn(self.embedding(x), h)
        return self.out(y), h


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    h = torch.zeros(1, batch_size, 4)
    for i in range(0, streams.size(0) - length, length):
        {length}
        x, y = {x}, {y}
        logits, h = net(x, h.detach())
        loss = nn.functional.cross_entropy(logits.reshape(-1, 7), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PARTS = {
    "fold": "data.view(size, -1).t().contiguous()",
    "more": "",
    "length": "n = length",
    "x": "streams[i : i + n]",
    "y": "streams[i + 1 : i + 1 + n]",
}


def result(**parts: str) -> Result:
    return convert(SCRIPT.format(**{**PARTS, **parts}))


def errors(found: Result) -> str:
    return " ".join(each.message for each in found.findings if each.level is Level.ERROR)


@pytest.mark.parametrize(
    "fold",
    [
        "data.view(size, -1).t().contiguous()",
        "data.reshape(size, -1).T",
        "data.view((size, -1)).transpose(0, 1)",
        "data.view(size, -1).permute(1, 0).to('cpu')",
    ],
)
def test_each_process_has_some_of_the_columns(fold: str) -> None:
    """However they are folded; the states follow them, and a second conversion finds them so."""
    found = result(fold=fold)
    assert found.outcome is Outcome.CONVERTED, errors(found)
    assert "share_streams(" in found.text.partition("symbols = ")[2]
    assert "h = torch.zeros(1, split_batch(batch_size), 4)" in found.text
    assert "streams.size(0) - length, length):" in found.text
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


def test_random_numbers_before_the_steps_decide_nothing_in_them() -> None:
    found = result(more="print(random.random(), torch.rand(1).item())")
    assert found.outcome is Outcome.CONVERTED


def test_streams_of_an_evaluation_stay_whole() -> None:
    found = result(more="others = fold(symbols, 5)\nprint(others.size(1))")
    assert "streams = share_streams(fold(symbols, batch_size), 1)" in found.text
    assert "\nothers = fold(symbols, 5)\n" in found.text


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"length": "n = length if random.random() < 0.9 else 2"}, "random numbers, which differ"),
        (
            {"length": "n = max(2, int(np.random.normal(length, 2)))"},
            "random numbers, which differ",
        ),
        (
            {"length": "n = length if torch.rand(1).item() < 0.9 else 2"},
            "random numbers, which differ",
        ),
        ({"x": "streams[i : i + n, :4]"}, "no piece of all streams"),
        ({"fold": "data.view(size, -1)"}, "no piece of all streams"),
        ({"fold": "data.view(-1, size)"}, ""),
    ],
)
def test_other_pieces_are_refused(parts: dict[str, str], why: str) -> None:
    found = result(**parts)
    assert found.outcome is Outcome.REFUSED
    assert why in errors(found)


def test_a_number_that_is_written_again_is_not_taken_for_another() -> None:
    """The state for all streams would not fit those that a process has."""
    text = SCRIPT.format(**PARTS).replace("zeros(1, batch_size", "zeros(1, 8")
    found = convert(text.replace("fold(symbols, batch_size)", "fold(symbols, 8)"))
    assert found.outcome is Outcome.REFUSED
    assert "'8' is the number of streams" in errors(found)


def test_a_parameter_is_what_each_call_gives_it() -> None:
    """That another call of the function gives another number says nothing of this one."""
    text = SCRIPT.format(**PARTS).replace("fold(symbols, batch_size)", "fold(symbols, 8)")
    started = "def started(n):\n    return torch.zeros(1, n, 4)\n\n\nfor epoch"
    text = text.replace("torch.zeros(1, batch_size, 4)", "started(8)").replace(
        "for epoch", started, 1
    )
    assert "started(8)" in text
    for more in ("", "print(started(4).sum())\n"):
        found = convert(text + more)
        assert found.outcome is Outcome.REFUSED
        assert "'n' is the number of streams" in errors(found)
