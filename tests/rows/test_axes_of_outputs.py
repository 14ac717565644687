"""Along which axes the outputs of a model have their samples, where several are possible."""

from __future__ import annotations

import pytest
from test_rows import rows

from transpile import Options, convert
from transpile.rows.verdict import Axes, joined

RECURRENT = """\
import sys
import random
import torch
import torch.nn as nn


class Letters(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(20, 8)
        if kind == "gru":
            self.rnn = nn.GRU(8, 8)
        elif kind == "lstm":
            self.rnn = nn.LSTM(8, 8)
        self.head = nn.Linear(8, 20)

    def forward(self, x, hidden):
        size = x.size(0)
        out, hidden = self.rnn(self.embedding(x).view(1, size, -1), hidden)
        return self.head(out.view(size, -1)), hidden

    def init_hidden(self, size):
        if self.kind == "lstm":
            return torch.zeros(1, size, 8), torch.zeros(1, size, 8)
        return torch.zeros(1, size, 8)


model = Letters(sys.argv[1])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
text = torch.arange(400) % 20


def random_part():
    starts = [random.randint(0, 380) for _ in range(6)]
    return torch.stack([text[one : one + 11] for one in starts])


for step in range(20):
    part = random_part()
    hidden = model.init_hidden(6)
    loss = 0
    optimizer.zero_grad()
    for place in range(10):
        out, hidden = model(part[:, place], hidden)
        loss += nn.functional.cross_entropy(out, part[:, place + 1])
    loss.backward()
    optimizer.step()
"""


def test_states_that_are_one_tensor_or_two() -> None:
    """Samples first in the inputs, second in the states, whichever layer was chosen.

    Axes for which the model comes to no end are not preferred to those.
    """
    found = rows(RECURRENT)
    assert (found.verdict, found.reason) == ("apart", "")
    assert (found.inputs, found.outputs) == ((0, 1), (0, 1))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (1, (1, 1), 1),
        ((0, 1), (0, (1, 1)), (0, 1)),
        ((1, (1, 1)), (1, 1), (1, 1)),
        ((0, 1), (0, 1), (0, 1)),
    ],
)
def test_axes_that_agree(one: Axes, other: Axes, both: Axes) -> None:
    assert joined(one, other) == both


@pytest.mark.parametrize(
    ("one", "other"), [(0, 1), (0, (0, 1)), ((0, 1), (1, 0)), ((0, 1), (0, 1, 1)), (None, (0, 0))]
)
def test_axes_that_do_not(one: Axes, other: Axes) -> None:
    with pytest.raises(ValueError, match="now of one shape, now of another"):
        joined(one, other)


@pytest.mark.parametrize("made", ["nn.MaxPool2d(2)", "nn.ReLU()", "nn.Softmax(dim=-1)"])
def test_outputs_behind_layers_made_in_forward_are_gathered(made: str) -> None:
    """What such a layer is called with are samples, not what it is made of."""
    script = f"""\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 3, 2) for _ in range(2)])
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        found = []
        for conv in self.convs:
            layer = {made}
            found.append(layer(conv(x)))
        return self.out(torch.cat(found, 3).flatten(1))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.LongTensor([[1, 2], [2, 3]])
y = torch.LongTensor([0, 1])
for epoch in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
    text = convert(script, Options(shard="calls")).text
    assert "SplitCalls(model)" in text and "outputs=None" not in text
