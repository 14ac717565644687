"""When DistributedDataParallel is told to look for unused parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
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


ARCHITECTURES = """\
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)


class Large(Small):
    def __init__(self):
        super().__init__()
        self.spare = nn.Linear(3, 1)
"""


@pytest.mark.parametrize(
    ("model", "looks"),
    [
        ("architectures.__dict__[args.arch]()", True),
        ("getattr(architectures, args.arch)()", True),
        ("architectures.Small()", False),
        ("architectures.Large()", True),
        ("getattr(torchvision.models, args.arch)()", False),
        ("torchvision.models.__dict__[args.arch]()", False),
    ],
)
def test_a_model_of_the_project_picked_by_name_may_be_any(
    model: str, looks: bool, tmp_path: Path
) -> None:
    (tmp_path / "architectures.py").write_text(ARCHITECTURES)
    source = script(top="import architectures\nimport torchvision", model=f"model = {model}")
    option = 'parser.add_argument("--arch", default="Small")\n'
    source = source.replace('parser.add_argument("--gpu"', option + 'parser.add_argument("--gpu"')
    result = convert(source, path="train.py", folder=tmp_path)
    assert result.text is not None and "DistributedDataParallel(model" in result.text
    assert ("find_unused_parameters=True" in result.text) is looks


PICKED = """\

class Picked(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.heads = nn.ModuleDict({"one": nn.Linear(3, 1), "two": nn.Linear(3, 1)})

    def forward(self, x, name):
        return self.heads[name](self.body(x))
"""


@pytest.mark.parametrize(
    ("prediction", "looks"),
    [
        ('model(x, "one" if x.sum() > 0 else "two")', True),
        ('sum(model(x, name) for name in ("one", "two"))', False),
        ('model(x, "one") + model(x, "two")', False),
    ],
)
def test_a_head_that_each_pass_is_told_leaves_the_others_out(prediction: str, looks: bool) -> None:
    """The second step of the job failed; after several calls only the last would be looked at."""
    source = script(top=PICKED, model="model = Picked()")
    source = source.replace(
        "nn.functional.mse_loss(model(x), y)", f"({prediction} - y).pow(2).mean()"
    )
    assert ("find_unused_parameters=True" in " ".join(new_lines(source))) is looks
