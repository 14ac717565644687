"""Batches that a script cuts out of its data by index."""

from __future__ import annotations

import pytest
from data_way import convert

from transpile import Level, Options, Outcome, Result

SCRIPT = """\
import random

import numpy as np
import torch
from torch import nn
{top}
torch.manual_seed(0)
xs, ys = torch.randn(64, 3), torch.randn(64, 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
size = 8


def step(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


{body}
"""


def result(body: str, top: str = "", **options: object) -> Result:
    source = SCRIPT.format(top=top, body=body)
    return convert(source, Options(**options))  # type: ignore[arg-type]


def shared(body: str, top: str = "") -> list[str]:
    """The lines below the helpers in which batches are sharded."""
    found = result(body, top)
    assert found.outcome is Outcome.CONVERTED, [f.message for f in found.findings]
    again = convert(found.text, Options(respect_distributed=False))
    assert again.text == found.text
    rest = found.text[found.text.index("torch.manual_seed(0)") :]
    words = ("share_batch(", "share_each_batch(", "from_main_process(", "shared_randomness")
    return [line.strip() for line in rest.splitlines() if any(word in line for word in words)]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "for i in range(0, 64, size):\n    step(xs[i:i + size], ys[i:i + size])",
            ["step(share_batch(xs[i:i + size], size), share_batch(ys[i:i + size], size))"],
        ),
        (
            "for k in range(64 // 8):\n    step(xs[k * 8:(k + 1) * 8], ys[8 * k:8 * (1 + k)])",
            ["step(share_batch(xs[k * 8:(k + 1) * 8], 8), share_batch(ys[8 * k:8 * (1 + k)], 8))"],
        ),
        (
            "for i in range(0, 64, size):\n    x, y = xs[i:i + size], ys[i:i + size]\n"
            "    step(x[y[:, 0] > 0], y[y[:, 0] > 0])",
            ["x, y = share_batch(xs[i:i + size], size), share_batch(ys[i:i + size], size)"],
        ),
        (
            "for x, y in zip(xs.split(size), ys.split(size)):\n    out = model(x)\n"
            "    loss = (out[y[:, 0] > 0] ** 2).sum()\n    optimizer.zero_grad()\n"
            "    loss.backward()\n    optimizer.step()",
            [
                "for x, y in zip(share_each_batch(xs.split(size)), share_each_batch(ys.split("
                "size))):"
            ],
        ),
        (
            "i = 0\nwhile i < 64:\n    j = min(i + size, 64)\n    step(xs[i:j], ys[i:j])\n"
            "    i += size",
            ["step(share_batch(xs[i:j], size), share_batch(ys[i:j], size))"],
        ),
        (
            "for _ in range(9):\n    i = torch.randperm(64)[:size]\n    step(xs[i], ys[i])",
            ["i = share_batch(from_main_process(torch.randperm(64))[:size], size)"],
        ),
        (
            "for _ in range(9):\n    i = np.random.choice(64, size)\n    step(xs[i], ys[i])",
            ["i = share_batch(from_main_process(np.random.choice(64, size)), size)"],
        ),
        (
            "order = list(range(64))\nfor _ in range(9):\n    random.shuffle(order)\n"
            "    for i in range(0, 64, size):\n"
            "        part = order[i:i + size]\n        step(xs[part], ys[part])",
            [
                "with shared_randomness():",
                "part = share_batch(order[i:i + size], size)",
            ],
        ),
        (
            "for x, y in zip(torch.split(xs, size), ys.split(size)):\n    step(x, y)",
            [
                "for x, y in zip(share_each_batch(torch.split(xs, size)), "
                "share_each_batch(ys.split(size))):"
            ],
        ),
    ],
)
def test_every_process_takes_its_part(body: str, lines: list[str]) -> None:
    assert shared(body) == lines


def test_a_function_that_also_evaluates_stays_whole() -> None:
    top = "def part(data, i):\n    return data[i:i + 8]\n"
    body = (
        "for i in range(0, 64, 8):\n    x = part(xs, i)\n    y = part(ys, i)\n    step(x, y)\n"
        "held = torch.randn(24, 3)\n"
        "for i in range(0, 24, 8):\n    print(model(part(held, i)).mean().item())"
    )
    assert result(body, top).outcome is Outcome.REFUSED
    pairs = "def pair(i):\n    return xs[i:i + 8], ys[i:i + 8]\n"
    body = (
        "for i in range(0, 64, 8):\n    x, y = pair(i)\n    step(x, y)\n"
        "for i in range(0, 64, 8):\n    x, y = pair(i)\n    print(model(x).mean().item())"
    )
    assert shared(body, pairs) == ["x, y = share_batch(x, 8), share_batch(y, 8)"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "for i in range(0, 56, 8):\n    step(xs[i:i + 8], ys[i + 1:i + 9])",
            "the first dimension may count time",
        ),
        (
            "for i in range(0, 32, 8):\n    j = i + 32\n    step(xs[i:i + 8], ys[j:j + 8])",
            "may count time",
        ),
        (
            "state = torch.zeros(8, 3)\nfor i in range(0, 64, 8):\n"
            "    out = model(xs[i:i + 8] + state)\n    state = torch.tanh(out.detach())\n"
            "    loss = (out - ys[i:i + 8]).pow(2).mean()\n    loss.backward()\n"
            "    optimizer.step()",
            "the state 'state' goes from one batch on to the next",
        ),
        (
            "for i in range(0, 64, 8):\n    step(xs[i:i + 8].unsqueeze(0), ys[i:i + 8])",
            "its first dimension elsewhere",
        ),
        (
            "memory = []\nfor i in range(0, 64, 8):\n    memory.append(xs[0])\n"
            "    x = torch.stack(random.sample(memory, 8))\n    step(x, ys[:8])",
            "goes on adding to the data",
        ),
        (
            "weights = torch.ones(3)\nfor _ in range(9):\n    rows = torch.randint(64, (8,))\n"
            "    chosen = torch.randint(3, (2,))\n"
            "    step(xs[rows], ys[rows] * weights[chosen].sum())",
            "several numbers of parts",
        ),
        (
            "columns = 2\nfor _ in range(9):\n    drawn = torch.randint(3, (8,))\n"
            "    step(xs[:8, drawn].t(), ys[:8])",
            "cut along a later dimension",
        ),
        (
            "layer = nn.LSTM(3, 1)\noptimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
            "for i in range(0, 64, 8):\n    out, _ = layer(xs[i:i + 8])\n"
            "    loss = (out - ys[i:i + 8]).pow(2).mean()\n    optimizer.zero_grad()\n"
            "    loss.backward()\n    optimizer.step()",
            "takes the first dimension",
        ),
        (
            "width = 8\nfor i in range(0, 64, size):\n"
            "    z = torch.zeros(width, 3)\n    step(xs[i:i + size] + z, ys[i:i + size])",
            "'width' has the value of the batch size",
        ),
    ],
)
def test_what_may_be_no_batch_of_samples_is_refused(body: str, said: str) -> None:
    found = result(body)
    errors = [f.message for f in found.findings if f.level is Level.ERROR]
    assert found.outcome is Outcome.REFUSED
    assert any(said in message for message in errors), errors


def test_draws_for_the_samples_of_a_part_stay_as_they_are() -> None:
    body = (
        "for i in range(0, 64, size):\n    x, y = xs[i:i + size], ys[i:i + size]\n"
        "    other = torch.randint(0, 64, (len(x),))\n    step(x - xs[other], y)"
    )
    lines = shared(body)
    assert lines == ["x, y = share_batch(xs[i:i + size], size), share_batch(ys[i:i + size], size)"]


def test_a_model_draws_no_batches() -> None:
    top = (
        "class Masked(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = nn.Linear(2, 1)\n\n    def forward(self, x):\n"
        "        return self.layer(x[:, torch.randperm(3)[:2]])\n"
    )
    body = "model = Masked()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    body += "for i in range(0, 64, size):\n    step(xs[i:i + size], ys[i:i + size])"
    lines = shared(body, top)
    assert lines == ["step(share_batch(xs[i:i + size], size), share_batch(ys[i:i + size], size))"]


def test_a_shape_of_the_batch_size_follows_the_part() -> None:
    body = (
        "for i in range(0, 64, size):\n"
        "    z = torch.zeros(size, 3)\n    step(xs[i:i + size] + z, ys[i:i + size])"
    )
    found = result(body)
    assert "z = torch.zeros(split_batch(size), 3)" in found.text


def test_a_batch_for_each_process_would_change_the_steps() -> None:
    body = "for i in range(0, 64, size):\n    step(xs[i:i + size], ys[i:i + size])"
    found = result(body, batch_size="per-device")
    assert found.outcome is Outcome.REFUSED
    assert any("would have to change those steps" in f.message for f in found.findings)
