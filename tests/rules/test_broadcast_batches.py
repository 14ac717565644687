"""Batches that rank 0 draws for all: which loops they are, and what may decide about them."""

from __future__ import annotations

import pytest

from transpile import Options, Outcome, convert

TOP = """\
import os
import random
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def batches():
    own = random.Random()
    for _ in range(own.randrange(5, 9)):
        yield torch.rand(8, 3) + own.random(), torch.rand(8, 1)


def step(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


"""


@pytest.mark.parametrize(
    "loop",
    [
        "for x, y in batches():",
        "for i, (x, y) in enumerate(batches()):",
        "stream = batches()\nfor x, y in stream:",
        "for epoch in range(2):\n  for x, y in batches():",
    ],
)
def test_what_a_loop_takes_from_rank_0_may_be_drawn_by_chance(loop: str) -> None:
    indent = "    " if "epoch" in loop else "  "
    text = f"{TOP}{loop}\n{indent}step(x, y)\n"
    assert "PT356" in {finding.code for finding in convert(text, Options(shard="calls")).findings}
    result = convert(text, Options(batches="broadcast"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert result.text.count("in batches_of_main_process(") == 1


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        # What is drawn beside the loop is each rank's own.
        ("own = random.Random()\nfor x, y in batches():\n    step(x + own.random(), y)", "PT356"),
        ("for x, y in batches():\n    y = y * int.from_bytes(os.urandom(1), 'big')\n"
         "    step(x, y)", "PT356"),
        ("for _ in range(4):\n    step(*next(batches()))", "PT356"),
        ("while True:\n    step(*next(batches()))", "PT358"),
    ],
)  # fmt: skip
def test_what_rank_0_does_not_draw_for_all_is_refused(loop: str, code: str) -> None:
    result = convert(f"{TOP}{loop}\n", Options(batches="broadcast"))
    assert result.outcome is Outcome.REFUSED
    assert code in {finding.code for finding in result.findings}
