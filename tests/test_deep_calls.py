"""Calls that nest deeply are followed, or refused with a reason; they never end in a crash."""

from __future__ import annotations

import pytest

from transpile import Level, Outcome, Result, convert

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24, 1)), batch_size=6)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step0(x, y, model, optimizer):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
LINK = """\


def step{number}(x, y, model, optimizer):
    {inner}
"""
TAIL = """\


for epoch in range(2):
    for x, y in loader:
        step{number}(x, y, model, optimizer)
"""
NESTED = """\
for again in range(1):
        if again < 3:
            with torch.enable_grad():
                try:
                    while x is not None:
                        if y is not None:
                            with torch.autograd.set_detect_anomaly(True):
                                {call}
                finally:
                    pass"""


def chain(length: int, nested: bool = False) -> Result:
    """A script whose steps are that many calls away, each perhaps deep in its function."""
    script = HEAD
    for number in range(1, length + 1):
        call = f"step{number - 1}(x, y, model, optimizer)"
        script += LINK.format(number=number, inner=NESTED.format(call=call) if nested else call)
    return convert(script + TAIL.format(number=length))


def test_a_chain_of_calls_is_followed() -> None:
    assert chain(30).outcome is Outcome.CONVERTED


@pytest.mark.parametrize(("length", "nested"), [(60, False), (35, True), (200, True)])
def test_what_nests_too_deeply_is_refused(length: int, nested: bool) -> None:
    result = chain(length, nested)
    assert result.outcome is Outcome.REFUSED
    assert [(f.code, f.level) for f in result.findings] == [("DT001", Level.ERROR)]
    assert "nest too deeply" in result.findings[0].message


def test_a_trainer_that_calls_itself_is_followed() -> None:
    again = "    if x is None:\n        return step0(y, x, model, optimizer)\n"
    script = HEAD.replace("optimizer):\n", "optimizer):\n" + again)
    result = convert(script + TAIL.format(number=0))
    assert result.outcome is Outcome.CONVERTED


@pytest.mark.parametrize("index", ["order", "1"])
def test_what_a_method_picks_out_of_itself_is_followed(index: str) -> None:
    """``self.rows = self.rows[order]`` makes an item whose base it is itself."""
    result = convert(f"""\
import numpy as np
import torch
from torch import nn


class Data:
    def __init__(self, rows):
        self.rows = np.asarray(rows)

    def shuffle(self):
        order = np.random.permutation(len(self.rows))
        self.rows = self.rows[{index}]

    def part(self, places):
        rows = []
        for row in self.rows[places]:
            rows.append(row)
        return rows


data = Data(np.random.rand(32, 6))
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    data.shuffle()
    for places in np.split(np.arange(32), 4):
        rows = data.part(places)
        loss = model(torch.tensor(rows).float()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())
""")
    assert "DT001" not in {one.code for one in result.findings}
    assert result.outcome is Outcome.CONVERTED


def test_what_is_cut_again_and_again_is_followed() -> None:
    """``rows = rows[size:]`` in a loop makes a slice whose base it is itself."""
    result = convert("""\
import torch
from torch import nn


def pieces(rows, size):
    found = []
    while len(rows) > size:
        piece = rows[:size]
        found.append(piece)
        rows = rows[size:]
    found.append(rows)
    return found


def batches(data, size):
    while True:
        x, y = data
        for one, other in zip(pieces(x, size), pieces(y, size)):
            yield one, other


model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.rand(32, 6), torch.rand(32, 1)
for more in range(2):
    x, y = torch.cat((x, torch.rand(32, 6))), torch.cat((y, torch.rand(32, 1)))
data = x, y
for step, (x, y) in enumerate(batches(data, 4)):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    first = [x[k] for k in range(2)]
    if step > 20:
        break
""")
    assert "DT001" not in [one.code for one in result.findings]
    assert result.outcome is Outcome.CONVERTED
