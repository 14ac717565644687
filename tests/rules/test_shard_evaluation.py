"""Evaluation that is sharded reports what one process reports, or is not sharded."""

from __future__ import annotations

import pytest
from cases import Case, cases
from data_way import convert

from transpile import Options, Outcome, Verdict
from transpile.verify import Auditor, format_report

SHARED = [case for case in cases("pytorch") if case.folder.name.startswith("eval_")]
EXACT = [case for case in SHARED if case.deterministic]

SCRIPT = """\
import random
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Meter:
    def __init__(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    def average(self):
        return self.sum / self.count


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.kept = None

    def forward(self, x):
        return self.layer(x)


def make(count):
    return TensorDataset(torch.randn(count, 4), torch.randint(0, 2, (count,)))


MORE
train_loader = DataLoader(make(64), batch_size=8)
test_loader = DataLoader(TEST_SET, batch_size=8)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    MODE
BODY
"""

ADDING = """\
total = 0
for x, y in test_loader:
    total += model(x).sum().item()
print(total)"""


def converted_with(body: str, more: str = "") -> str:
    """The output for an evaluation that is sharded."""
    result = convert(around(body, more), Options(evaluation="shard"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert not [f for f in result.findings if f.code == "PT611"]
    return result.text


def said_of(body: str, more: str = "") -> list[str]:
    """What is said of an evaluation that is not sharded."""
    result = convert(around(body, more), Options(evaluation="shard"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "own_batches" not in result.text
    return [finding.message for finding in result.findings if finding.code == "PT611"]


def around(
    body: str, more: str = "", test_set: str = "make(37)", mode: str = "model.eval()"
) -> str:
    """A script around an evaluation."""
    indented = "\n".join("    " + line for line in body.splitlines())
    script = SCRIPT.replace("MORE", more).replace("TEST_SET", test_set)
    script = script.replace("MODE", mode).replace("BODY", indented)
    compile(script, "train.py", "exec")
    return script


def codes(
    body: str, more: str = "", test_set: str = "make(37)", mode: str = "model.eval()"
) -> tuple[str, list[str]]:
    """The output for an evaluation, and what is said of it."""
    result = convert(around(body, more, test_set, mode), Options(evaluation="shard"))
    assert result.outcome is Outcome.CONVERTED, result.findings
    said = [f.message for f in result.findings if f.code == "PT611"]
    done = [d for d in result.decisions if d.code == "PT612" and d.verdict is Verdict.APPLY]
    assert len(said) + len(done) == 1, result.findings
    assert bool(done) == ("own_batches(test_loader)" in result.text)
    return result.text, said


PUT_TOGETHER = {
    "sums": (ADDING, "(total,) = sum_totals(total)"),
    "sums written out": (
        ADDING.replace("total += ", "total = total + "),
        "(total,) = sum_totals(total)",
    ),
    "differences": (ADDING.replace("+=", "-="), "(total,) = sum_totals(total)"),
    "tensors": (
        ADDING.replace("total = 0", "total = torch.tensor(0.0)"),
        "(total,) = sum_totals(total)",
    ),
    "lists": (
        "found = []\nfor x, y in test_loader:\n    found.append(model(x))\nprint(len(found))",
        "(found,) = join_lists(found)",
    ),
    "tensors behind each other": (
        "found = torch.tensor([])\nfor x, y in test_loader:\n"
        "    found = torch.cat((found, model(x)[:, 0]))\nprint(found.mean())",
        "(found,) = join_tensors(found)",
    ),
    "arrays behind each other": (
        "found = np.array([])\nfor x, y in test_loader:\n"
        "    found = np.append(found, model(x)[:, 0].detach().numpy())\nprint(found.mean())",
        "(found,) = join_arrays(found)",
    ),
    "counts in a list": (
        "found = [0, 0]\nfor x, y in test_loader:\n    for guess in model(x).argmax(1):\n"
        "        found[guess] += 1\nprint(found)",
        "(found,) = add_up_counts(found)",
    ),
    "a Counter": (
        "found = Counter()\nfor x, y in test_loader:\n"
        "    found.update(model(x).argmax(1).tolist())\nprint(found)",
        "(found,) = add_up_counts(found)",
    ),
    "a confusion matrix": (
        "found = np.zeros((2, 2))\nfor x, y in test_loader:\n"
        "    for a, b in zip(y, model(x).argmax(1)):\n        found[a, b] += 1\nprint(found)",
        "(found,) = sum_totals(found)",
    ),
    "an object of the script": (
        "meter = Meter()\nfor x, y in test_loader:\n"
        "    meter.update(model(x).sum().item(), len(x))\nprint(meter.average())",
        "meter.sum, meter.count = sum_totals(meter.sum, meter.count)",
    ),
    "without touching the batch's own lists": (
        "total = 0\nfor x, y in test_loader:\n    own = []\n    for row in model(x):\n"
        "        own.append(row.sum().item())\n    total += max(own)\nprint(total)",
        "(total,) = sum_totals(total)",
    ),
}


@pytest.mark.parametrize("name", PUT_TOGETHER)
def test_totals_are_put_together_after_the_loop(name: str) -> None:
    body, line = PUT_TOGETHER[name]
    text, said = codes(body)
    assert not said
    assert line in text
    assert "unwrap(model)(x)" in text
    assert text.index("in own_batches(test_loader)") < text.index(line) < text.rindex("print")


def adding(line: str, *, before: str = "total = 0", after: str = "print(total)") -> str:
    """An evaluation that adds up, with a line of its own in the loop."""
    return (
        f"{before}\nfor x, y in test_loader:\n    out = model(x)\n    total += out.sum().item()\n"
        f"    {line}\n{after}"
    )


WHOLE = {
    "prints": (adding("print(out.mean())"), "it prints within the loop"),
    "left early": (adding("if len(x) < 8: break"), "the loop is left early"),
    "running average": (adding("mean = total / 2"), "'total' is looked at while"),
    "carried": (
        adding("out = state = out + state", before="total = 0; state = 0"),
        "'state' is carried",
    ),
    "largest": (
        adding("most = max(most, len(x))", before="total = most = 0", after="print(total, most)"),
        "'most' is carried",
    ),
    "last batch": (adding("pass", after="print(total, out)"), "'out' of the last batch"),
    "number": (
        "total = 0\nfor i, (x, y) in enumerate(test_loader):\n    total += model(x).sum() * i\n"
        "print(total)",
        "the number of the batch, 'i', is used",
    ),
    "not from zero": (adding("pass", before="total = len(test_loader)"), "begins empty or at zero"),
    "over several": (
        "total = 0\nfor again in range(2):\n    for x, y in test_loader:\n"
        "        total += model(x).sum().item()\nprint(total)",
        "begins empty or at zero",
    ),
    "held elsewhere": (
        "found = []\nboth = (found,)\nfor x, y in test_loader:\n    found.append(model(x))\n"
        "print(both)",
        "'found' is used before the loop",
    ),
    "by index": (
        "found = torch.zeros(64)\nfor x, y in test_loader:\n    found[y] = model(x)[:, 0]\n"
        "print(found)",
        "it keeps something else of each batch",
    ),
    "kept by an object": (
        adding("box.kept = out", before="total = 0; box = Meter()"),
        "it keeps something else of each batch",
    ),
    "random": (adding("total += torch.rand(1).item()"), "it draws random numbers"),
    "random order of Python": (adding("random.random()"), "it draws random numbers"),
    "written": (adding("torch.save(out, 'out.pt')"), "it writes within the loop"),
    "another loop form": (
        "total = 0\nfor (x, y), z in zip(test_loader, range(9)):\n"
        "    total += model(x).sum().item()\nprint(total)",
        "made of the loader",
    ),
    "mode": (adding("model.train()"), "it changes the mode of a model"),
    "nothing": ("for x, y in test_loader:\n    model(x)", "nothing is seen that it adds up"),
    "of both": (
        "for loader in (train_loader, test_loader):\n    total = 0\n    for x, y in loader:\n"
        "        total += model(x).sum().item()\n    print(total)",
        "the loop also goes over training data",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_every_process_evaluates_everything(name: str) -> None:
    body, why = WHOLE[name]
    text, said = codes(body)
    assert len(said) == 1
    assert why in said[0]
    assert "sum_totals" not in text
    assert "join_lists" not in text


TRACKED = """\
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs")


def evaluate(model, loader):
    total = 0
    for x, y in loader:
        total += model(x).sum().item()
    return total
"""


def test_evaluation_is_not_shared_out_where_a_tracker_of_rank_0_decides() -> None:
    """And is computed before the guard where it is only recorded by one."""
    body = "value = evaluate(model, test_loader)"
    record = "writer.add_scalar('value', evaluate(model, test_loader), epoch)"
    for line in (f"if writer is not None:\n    {record}", f"if writer:\n    {body}"):
        assert "only some processes" in said_of(line, TRACKED)[0]
    text = converted_with(record, TRACKED)
    assert "in own_batches(loader)" in text
    assert "evaluate_result = evaluate(model, test_loader)\n    if is_main_process():" in text


STREAM = """\
class Stream(IterableDataset):
    def __iter__(self):
        yield from make(37)
"""
LOOSE = """\
class Net(Net):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(self.layer(x))
"""
KEEPING = """\
class Net(Net):
    def forward(self, x):
        self.kept = x
        return self.layer(x)
"""
NOISY = """\
class Noisy(TensorDataset):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + torch.randn(4), y
"""


def test_streams_and_random_samples_are_not_shared_out() -> None:
    assert "a stream" in codes(ADDING, STREAM, "Stream()")[1][0]
    noisy = "Noisy(torch.randn(9, 4), torch.randint(0, 2, (9,)))"
    assert "made with random numbers" in codes(ADDING, NOISY, noisy)[1][0]


def test_models_must_be_in_evaluation_mode_where_that_matters() -> None:
    assert not codes(ADDING, mode="pass")[1]
    assert not codes(ADDING, LOOSE)[1]
    assert "evaluation mode" in codes(ADDING, LOOSE, mode="pass")[1][0]
    assert "evaluation mode" in codes(ADDING, LOOSE, mode="model.train()")[1][0]
    assert "evaluation mode" in codes(ADDING, LOOSE, mode="if epoch: model.eval()")[1][0]


def test_models_must_not_keep_anything() -> None:
    assert "the model keeps something" in codes(ADDING, KEEPING)[1][0]


def test_nothing_is_shared_out_by_default() -> None:
    result = convert(around(ADDING), Options())
    assert result.outcome is Outcome.CONVERTED
    assert "own_batches" not in result.text
    assert not [f for f in result.findings if f.code in ("PT611", "PT612")]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.folder.name)
def test_printed_numbers_are_those_of_one_process(case: Case, auditor: Auditor) -> None:
    report = auditor.audit(
        case.script,
        case.expected_output,
        world_sizes=(1, 2, 3),
        arguments=case.arguments,
        tolerance=1e-5,
        printed_numbers=True,
        workdir_seed=case.folder,
        timeout_seconds=120,
    )
    assert report.passed, format_report(report)
