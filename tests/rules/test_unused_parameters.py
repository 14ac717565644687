"""When DistributedDataParallel is told to look for unused parameters."""

from __future__ import annotations

import pytest
from small_scripts import new_lines, script

MODEL = """\
from torch.utils import checkpoint as cp

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 1)
        self.two = nn.Linear(3, 1)

    def forward(self, x):
        if x.sum() > 0:
            return self.two(x)
        return {call}
"""


@pytest.mark.parametrize(
    ("call", "looks"),
    [
        ("self.one(x)", True),
        ("cp.checkpoint(self.one, x, use_reentrant=False)", True),
        ("cp.checkpoint(self.one, x, use_reentrant=True)", False),
        ("cp.checkpoint(self.one, x)", False),
    ],
)
def test_reentrant_checkpoints_leave_no_room_for_it(call: str, looks: bool) -> None:
    source = script(top=MODEL.replace("{call}", call), model="model = Branches()")
    text = " ".join(new_lines(source))
    assert "DistributedDataParallel(model" in text
    assert ("find_unused_parameters=True" in text) is looks


HEADS = """\

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.one = nn.Linear(3, 1)
        self.two = nn.Linear(3, 1)

    def forward(self, x):
        x = self.body(x)
        return self.one(x), self.two(x)
"""

BOTH = "first, second = model(x); (first + second).mean().backward(); optimizer.step()"


@pytest.mark.parametrize(
    ("loss", "looks"), [("first.mean()", True), ("first.mean() + second.mean()", False)]
)
def test_each_backward_pass_needs_all_parameters(loss: str, looks: bool) -> None:
    source = script(top=HEADS, model="model = Heads()", batch="first, second = model(x)")
    source = source.replace("nn.functional.mse_loss(model(x), y)", loss)
    source = source.replace("optimizer.step()", "optimizer.step()\n            " + BOTH)
    assert ("find_unused_parameters=True" in " ".join(new_lines(source))) is looks
