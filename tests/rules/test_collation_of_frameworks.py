"""What collate functions of Paddle and MXNet make of several samples, and what data sets keep."""

from __future__ import annotations

import pytest

from transpile import Options, convert

PADDLE = """\
import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, Dataset

rows = np.random.RandomState(0).randn(32, 4).astype("float32")
state = {{"n": 0, "mean": 0.0}}
count = 0
history = []


class Rows(Dataset):
    def __init__(self):
        self.count, self.prev, self.level, self.kept = 0, 0.0, 0.0, {{}}

    def __len__(self):
        return 32

    def __getitem__(self, index):
        {kept}
        return {sample}, rows[index, :1]


def collate(samples):
    x, y = (np.stack(part) for part in zip(*samples))
    {line}
    return {batch}


loader = DataLoader(Rows(), batch_size=8, collate_fn=collate)
model = nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for a, b in loader:
    loss = nn.functional.mse_loss(model(a), b)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
print(float(model.weight.sum()))
{read}
"""
MXNET = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

rows = np.random.RandomState(0).randn(32, 4).astype("float32")
state = {{"n": 0, "mean": 0.0}}
count = 0
history = []


class Rows(gluon.data.Dataset):
    def __init__(self):
        self.count, self.prev, self.level, self.kept = 0, 0.0, 0.0, {{}}

    def __len__(self):
        return 32

    def __getitem__(self, index):
        {kept}
        return {sample}, rows[index, :1]


def collate(samples):
    x, y = (np.stack(part) for part in zip(*samples))
    {line}
    x, y = {batch}
    return mx.nd.array(x), mx.nd.array(y)


loader = gluon.data.DataLoader(Rows(), batch_size=8, batchify_fn=collate)
net = gluon.nn.Dense(1)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
for a, b in loader:
    with autograd.record():
        loss = ((net(a) - b) ** 2).mean()
    loss.backward()
    trainer.step(1)
print(net.weight.data().asnumpy().sum())
{read}
"""


def codes(
    script: str,
    kept: str = "pass",
    sample: str = "rows[index]",
    line: str = "pass",
    batch: str = "x, y",
    read: str = "",
    shard: str = "data",
) -> set[str]:
    """The codes of all findings, without the prefix of the framework."""
    text = script.format(kept=kept, sample=sample, line=line, batch=batch, read=read)
    compile(text, "train.py", "exec")
    options = Options(shard="data") if shard == "data" else Options()
    return {one.code[2:] for one in convert(text, options).findings}


BOTH = pytest.mark.parametrize("script", [PADDLE, MXNET], ids=["paddle", "mxnet"])


@BOTH
@pytest.mark.parametrize(
    "batch",
    ["x - x.mean(0), y", "x / x.sum(), y", "(x - x.mean(0)) / x.std(0), y", "x, y - y[::-1]",
     "0.7 * x + 0.3 * np.roll(x, 1, 0), y", "0.7 * x + 0.3 * x[::-1], y"],
)  # fmt: skip
def test_samples_that_are_mixed_are_told_and_exact_by_calls(script: str, batch: str) -> None:
    assert codes(script, batch=batch) & {"225", "236", "314", "403"}
    assert codes(script, batch=batch, shard="auto") <= {"015", "354"}


@BOTH
def test_samples_that_are_left_out_are_refused(script: str) -> None:
    line = "x = np.stack([one[0] for one in samples if one[1] > 0])"
    assert codes(script, line=line) & {"220", "224"}


@BOTH
@pytest.mark.parametrize("batch", ["2 * x, y", "np.abs(x), y - 1", "x.astype('float32'), y"])
def test_those_that_are_apart_are_not(script: str, batch: str) -> None:
    assert not codes(script, batch=batch)


PAIRED = [
    ("self.count += 1", "rows[index] * (1 + 0.01 * self.count)"),
    ("self.kept['n'] = self.kept.get('n', 0) + 1; self.count += 1", "rows[index] * self.count"),
    ("state['n'] += 1", "rows[index] * state['n']"),
    ("global count; count += 1", "rows[index] * count"),
    ("self.level = 0.9 * self.level + 0.1 * rows[index].mean()", "rows[index] - self.level"),
    ("found = rows[index] - self.prev; self.prev = rows[index]", "found"),
    ("history.append(rows[index])", "rows[index] - history[0]"),
]


@BOTH
@pytest.mark.parametrize(("kept", "sample"), PAIRED)
def test_what_a_data_set_keeps_for_the_next_sample_is_refused(
    script: str, kept: str, sample: str
) -> None:
    assert "229" in codes(script, kept=kept, sample=sample)
    assert "229" not in codes(script, kept=kept, sample=sample, shard="auto")


@BOTH
@pytest.mark.parametrize(
    ("kept", "sample"),
    [
        ("self.count += 1", "rows[index]"),
        ("n = 0; n += 1", "rows[index] * n"),
        ("self.kept[index] = rows[index]", "self.kept[index]"),
        ("self.kept.setdefault(index, rows[index])", "self.kept[index]"),
        ("total = rows[index]; total = total + 1", "total"),
    ],
)
def test_what_nothing_is_made_of_is_left_alone(script: str, kept: str, sample: str) -> None:
    assert not codes(script, kept=kept, sample=sample)


@BOTH
@pytest.mark.parametrize(
    ("line", "batch", "read"),
    [
        ("state['n'] += len(samples)", "x * state['n'], y", ""),
        ("state['n'] += len(samples)", "x, y", "print(state['n'])"),
        ("global count; count += len(samples)", "x * count, y", ""),
        ("state['mean'] = 0.9 * state['mean'] + 0.1 * x.mean()", "x - state['mean'], y", ""),
        ("history.extend(samples)", "x, y", "print(len(history))"),
    ],
)
def test_what_collation_keeps_of_a_share_is_refused(
    script: str, line: str, batch: str, read: str
) -> None:
    assert "229" in codes(script, line=line, batch=batch, read=read)
    assert "229" not in codes(script, line=line, batch=batch, read=read, shard="auto")


@BOTH
@pytest.mark.parametrize("read", ["", "print(state['n'])"])
def test_batches_may_be_counted(script: str, read: str) -> None:
    assert not codes(script, line="state['n'] += 1", batch="x * state['n'], y", read=read)
