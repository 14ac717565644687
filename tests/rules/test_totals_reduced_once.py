"""A total that decides and is printed is taken over all processes once, wherever that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert

from transpile.verify import Auditor
from transpile.verify.table import format_report

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
x = torch.randn(48, 4)
data = TensorDataset(x, (x[:, 0] + x[:, 1] > 0).long() + (x[:, 2] > 0.5).long())
loader = DataLoader(data, batch_size=6)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for epoch in range(4):
    {start}
    for a, b in loader:
        out = model(a)
        loss = F.cross_entropy(out, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {body}
    {after}
torch.save(model.state_dict(), "model.pt")
"""
HITS = "(out.argmax(1) == b).sum()"
DECIDED = 'if {} > 20:\n        optimizer.param_groups[0]["lr"] = 0.05'
COUNTED = {"start": "right = torch.zeros(())", "body": f"right += {HITS}"}
SUMMED = {"start": "total = torch.zeros(())", "body": "total += loss.detach() * len(b)"}
#: What is kept batch by batch, and what becomes of it behind the loop.
TOTALS = {
    "compared and in a quotient": {
        **COUNTED,
        "after": 'print(f"{right / len(data):.8f}")\n    ' + DECIDED.format("right"),
    },
    "compared and as a number": {
        **COUNTED,
        "after": DECIDED.format("right") + "\n    print(epoch, float(right) / 48)",
    },
    "a sum of losses": {
        **SUMMED,
        "after": 'print(f"{total / len(data):.8f}")\n    ' + DECIDED.format("total"),
    },
    "losses weighted by a count": {
        "start": "total, n = torch.zeros(()), 0",
        "body": "total += loss.detach() * int((b > 0).sum())\n        n += int((b > 0).sum())",
        "after": "print(total / n)",
    },
    "a quotient that decides, too": {
        "start": "hits = torch.zeros((), dtype=torch.long)",
        "body": f"hits += {HITS}",
        "after": "share = hits / len(data)\n    print(share.item())\n    "
        'if share > 0.7:\n        torch.save(model.state_dict(), f"at_{share:.3f}.pt")\n    '
        "if hits >= 40:\n        break",
    },
    "a quotient that sets the rate": {
        **COUNTED,
        "after": "print((right / 48).item())\n    " + DECIDED.format("32 * (right / 48)"),
    },
    "a mean that a scheduler is given": {
        "before": "plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(\n"
        "    optimizer, patience=0, threshold=0.1\n)",
        "start": "total = torch.zeros(())",
        "body": "total += loss.detach()",
        "after": "plateau.step(total / len(loader))\n    "
        'print(f"{total / len(loader):.8f}", optimizer.param_groups[0]["lr"])',
    },
}
METER = """
class Meter:
    def __init__(self):
        self.average = None

    def add(self, value):
        self.average = (
            value if self.average is None else 0.9 * self.average + 0.1 * value
        )

    def value(self):
        return self.average

meter = Meter()
"""
ASKED = """
class Log:
    def __init__(self):
        self.items = []

    def append(self, value):
        self.items += [value]

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)
"""
LOSSES = {"start": "kept = []", "body": "part = loss.detach() * len(b)\n        kept.append(part)"}
#: Numbers that get into an object or a list, where they are reduced, and are read from there.
TOTALS |= {
    "a running average from None": {
        "before": METER,
        "start": "pass",
        "body": f"meter.add({HITS})",
        "after": "print(float(meter.value()))",
    },
    "a running average of quotients": {
        "before": METER,
        "start": "pass",
        "body": f"meter.add({HITS} / len(b))",
        "after": "print(meter.value())",
    },
    "two running averages": {
        "before": METER.replace("meter = Meter()", "meter, hits = [Meter() for _ in range(2)]"),
        "start": "pass",
        "body": f"meter.add(loss.detach())\n        hits.add({HITS} / len(b))",
        "after": "print(meter.value(), hits.value())",
    },
    "a list that is printed and averaged": {
        **LOSSES,
        "after": "print(kept)\n    print(torch.stack(kept).mean().item())",
    },
    "a list that is saved and its last": {
        **LOSSES,
        "after": 'torch.save(kept, "kept.pt")\n    print(kept[-1].item(), part.item())',
    },
    "a list, and what is not in it": {
        "start": "kept = []",
        "body": "part = loss.detach() * len(b)\n        kept.append(part + 1)\n        "
        'if part > 4:\n            print("much", part)',
        "after": "print(kept)",
    },
    "a quotient by a method": {
        **COUNTED,
        "after": 'print(f"{right.div(48):.8f}")\n    ' + DECIDED.format("right"),
    },
    "what is unpacked": {
        "before": ASKED.replace("__getitem__(self, index)", "__iter__(self)").replace(
            "self.items[index]", "iter(self.items)"
        ),
        "start": "kept = Log()",
        "body": "kept.append(loss.detach())",
        "after": "first, *rest = kept\n    print(float(first))",
    },
    "what is asked for by its place": {
        "before": ASKED,
        "start": "kept = Log()",
        "body": "kept.append(loss.detach())",
        "after": "print([float(one) for one in kept])",
    },
}


@pytest.mark.parametrize("name", TOTALS)
def test_what_is_printed_and_decided_is_that_of_one_process(
    name: str, tmp_path: Path, auditor: Auditor
) -> None:
    original, output = tmp_path / "train.py", tmp_path / "train_dist.py"
    original.write_text(SCRIPT.format(**{"before": "", **TOTALS[name]}), "utf-8")
    result = convert(original.read_text("utf-8"))
    assert not result.findings
    output.write_bytes(result.data)
    report = auditor.audit(
        original, output, world_sizes=(1, 2), tolerance=1e-9, printed_numbers=True
    )
    assert report.passed, format_report(report)


def test_a_quotient_of_a_reduced_number_and_an_own_one_is_told() -> None:
    """One of the counts is that of all processes when it meets the other."""
    text = SCRIPT.format(
        before="",
        start="first = others = 0",
        body="first += (b == 1).sum()\n        others += len(b) - (b == 1).sum().item()",
        after="print(first / (first + others), others)",
    )
    (found,) = [one for one in convert(text).findings if one.code == "PT603"]
    assert "some are not" in found.message


METERS = """
import functools
import operator

class Meter:
    def __init__(self, total=0.0):
        self.total = total

    def __add__(self, other):
        return Meter(self.total + other.total)

    def __radd__(self, other):
        return self if other == 0 else self + other

    def __lt__(self, other):
        return self.total < other.total
"""


@pytest.mark.parametrize(
    ("after", "code"),
    [
        ("print(sum(kept).total)", "PT603"),
        ("print(max(kept).total)", "PT603"),
        ("print(functools.reduce(operator.add, kept).total)", "PT603"),
    ],
)
def test_what_comes_of_objects_with_special_methods_is_told(after: str, code: str) -> None:
    text = SCRIPT.format(
        before=METERS,
        start="kept = []",
        body="kept.append(Meter(loss.item()))",
        after=after,
    )
    assert code in [one.code for one in convert(text).findings]


@pytest.mark.parametrize(
    "after",
    [
        'print(max(map(operator.attrgetter("total"), kept)))',
        'if kept[0] < kept[-1]:\n        optimizer.param_groups[0]["lr"] *= 0.9',
    ],
)
def test_what_special_methods_give_is_followed_to_where_it_gets_in(after: str) -> None:
    body = "kept.append(Meter(loss.item()))"
    found = convert(SCRIPT.format(before=METERS, start="kept = []", body=body, after=after))
    assert not found.findings
    assert "kept.append(Meter(reduce_mean(loss).item()))" in found.text


def test_what_a_function_finds_in_an_object_is_told() -> None:
    text = SCRIPT.format(
        before="from collections.abc import Sequence\n"
        + ASKED.replace("class Log:", "class Log(Sequence):"),
        start="kept = Log()",
        body="kept.append(loss.detach() * len(b))",
        after="for one in kept:\n        print(float(one))",
    )
    (found,) = [one for one in convert(text).findings if one.code == "PT603"]
    assert "object" in found.message


def test_an_array_of_losses_is_told() -> None:
    text = SCRIPT.format(
        before="import numpy as np\n\nlosses = np.zeros(32)\nstep = 0",
        start="pass",
        body="losses[step] = loss\n        step += 1",
        after='np.save("losses.npy", losses)',
    )
    (found,) = [one for one in convert(text).findings if one.code == "PT603"]
    assert "an array of numbers" in found.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("best = None", "if best is None or share > best:\n        best = share\n        {print}"),
        ("best = 0", "if share > best:\n        best = share\n    {print}"),
    ],
    ids=["None at first", "0 at first"],
)
def test_what_is_no_tensor_at_first_is_told(before: str, after: str) -> None:
    """The helpers reduce tensors, or numbers, and a branch that ranks enter apart is no place."""
    text = SCRIPT.format(
        before=before,
        start="hits = torch.zeros((), dtype=torch.long)",
        body=f"hits += {HITS}",
        after="share = hits / len(data)\n    "
        + after.format(print='print(f"best {best:.8f} in {epoch}")'),
    )
    found = {one.code for one in convert(text).findings}
    assert "PT603" in found


def test_counts_beside_tensors_in_a_dict_are_told() -> None:
    text = SCRIPT.format(
        before="",
        start='sums = {"right": torch.zeros(()), "n": 0}',
        body=f'sums["right"] += {HITS}\n        sums["n"] += len(b)',
        after='print({key: float(value) / sums["n"] for key, value in sums.items()})',
    )
    (found,) = [one for one in convert(text).findings if one.code == "PT603"]
    assert "a plain number at times" in found.message
