"""Where a mask over a loss of Paddle leaves padding out, and where layers carry it further."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import convert as convert_on_any_way
from transpile.finding import Level

SCRIPT = """\
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import DataLoader
from samples import samples


def collate(batch):
    longest = max(len(x) for x, _ in batch)
    fill = lambda rows: np.stack([np.pad(row, (0, longest - len(row))) for row in rows])
    return fill([x for x, _ in batch]), fill([y for _, y in batch])


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8)
        self.layer = {layer}
        self.out = nn.Linear({width}, 5)

    def forward(self, x):
        h = self.words(x)
        lengths = (x != 0).sum(1)
        {forward}


loader = DataLoader(samples, batch_size=8, collate_fn=collate)
model = Net()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, y in loader:
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=0)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
OUTPUTS = "return self.out(self.layer(h)[0])"
STATE = "o, s = self.layer(h)\n        return self.out(o + s[0].unsqueeze(1))"
LONE = "return self.out(self.layer(h))"


def script(layer: str, forward: str, width: int = 8) -> bytes:
    """A tagger whose loss leaves padding out."""
    return SCRIPT.format(layer=layer, forward=forward, width=width).encode()


@pytest.mark.parametrize(
    ("layer", "forward", "carried"),
    [
        ("nn.GRU(8, 8)", OUTPUTS, False),
        ("nn.GRU(8, 8, 1, 'forward')", OUTPUTS, False),
        ("nn.GRU(8, 8)", STATE, True),
        ("nn.GRU(8, 8)", STATE.replace("(h)", "(h, None, lengths)"), False),
        ("nn.LSTM(8, 8)", STATE.replace("s[0]", "s[0][0]"), True),
        ("nn.LSTM(8, 4, direction='bidirect')", OUTPUTS, True),
        ("nn.LSTM(8, 4, 1, 'bidirect')", OUTPUTS, True),
        (
            "nn.LSTM(8, 4, direction='bidirect')",
            OUTPUTS.replace("(h)", "(h, sequence_length=lengths)"),
            False,
        ),
        ("nn.LSTM(8, 4, direction=input())", OUTPUTS, True),
        ("nn.RNN(nn.GRUCell(8, 8))", OUTPUTS, False),
        ("nn.RNN(nn.GRUCell(8, 8), is_reverse=True)", OUTPUTS, True),
        ("nn.BiRNN(nn.GRUCell(8, 4), nn.GRUCell(8, 4))", OUTPUTS, True),
        ("nn.TransformerEncoderLayer(8, 2, 16)", LONE, True),
        ("nn.TransformerEncoderLayer(8, 2, 16)", LONE.replace("(h)", "(h, x != 0)"), False),
        ("nn.TransformerEncoderLayer(8, 2, 16)", LONE.replace("(h)", "(h, src_mask=None)"), True),
        ("nn.Conv1D(8, 8, 3, padding=1, data_format='NLC')", LONE, True),
        ("nn.Linear(8, 8)", LONE, False),
    ],
)
def test_layers_that_carry_padding_further_are_warned_of(
    layer: str, forward: str, carried: bool
) -> None:
    data = script(layer, forward)
    levels = {one.level for one in convert(data).findings if one.code == "PD217"}
    assert levels == {Level.WARNING if carried else Level.NOTE}
    assert ("SplitCalls(" in convert_on_any_way(data).text) is carried
