"""Batches of rows that are joined from samples of different lengths: bags, graphs, packed words."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import itertools
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
bags = [(torch.randn(2 + i % 5, 4), float(i % 3)) for i in range(32)]


def pad(rows, length):
    return torch.cat([rows, torch.zeros(length - len(rows), 4)])


def collate(items):
    xs, ys = zip(*items)
    longest = max(len(x) for x in xs)
    rows = []
    for x in xs:
        rows.extend(x)
    return {batch}


net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    count = 0
    for b in DataLoader(bags, batch_size=8, collate_fn=collate):
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += {count}
    print(count)
"""
MEANS = "torch.stack([x.mean(0) for x in xs])"
LOSS = '(net(b["x"]).squeeze(-1) - b["y"]).pow(2).mean()'


def levels(batch: str, loss: str, count: str) -> set[str]:
    """How rows are spoken of that are joined while a batch is put together."""
    text = SCRIPT.replace("{batch}", batch).replace("{loss}", loss).replace("{count}", count)
    found = convert(text, Options(shard="data"), path="train.py").findings
    return {each.level.name for each in found if each.code == "PT220"}


@pytest.mark.parametrize(
    "rows",
    [
        "torch.cat(xs)",
        "torch.vstack(xs)",
        "(torch.cat([x * 2 for x in xs], dim=0) + 1)",
        "torch.stack([row for x in xs for row in x])",
        "torch.stack(rows)",
        "torch.stack(list(itertools.chain.from_iterable(xs)))",
    ],
)
@pytest.mark.parametrize(
    "loss",
    [
        '(net(b["x"]) - b["target"]).pow(2).mean()',
        '(net(b["x"]) - b["x"].prod(1, keepdim=True)).pow(2).sum() / len(b["x"])',
        'net(b["x"]).pow(2).mean()',
    ],
)
def test_losses_over_joined_rows_are_refused(rows: str, loss: str) -> None:
    batch = f'{{"x": {rows}, "target": {rows}.sum(1, keepdim=True), "y": torch.tensor(ys)}}'
    assert levels(batch, loss, "1") == {"ERROR"}


@pytest.mark.parametrize("count", ['len(b["x"])', 'b["x"].size(0)', 'b["x"].numel()', 'b["n"]'])
def test_reported_numbers_of_joined_rows_are_warned_of(count: str) -> None:
    number = '"n": sum(len(x) for x in xs)'
    batch = f'{{"x": torch.cat(xs), "mean": {MEANS}, "y": torch.tensor(ys), {number}}}'
    assert levels(batch, LOSS.replace('"x"', '"mean"'), count) == {"WARNING"}


@pytest.mark.parametrize(
    "x",
    [
        MEANS,
        "torch.stack([pad(x, longest) for x in xs]).mean(1)",
        "torch.stack([torch.cat([x.mean(0)[:2], x.max(0).values[:2]]) for x in xs])",
        "torch.stack([torch.cat([row[None] for row in x]).mean(0) for x in xs])",
    ],
)
def test_one_row_for_each_sample_is_not(x: str) -> None:
    assert not levels(f'{{"x": {x}, "y": torch.tensor(ys)}}', LOSS, 'len(b["y"])')


def test_joined_rows_that_are_pooled_again_are_not() -> None:
    batch = '{"x": torch.cat(xs), "n": [len(x) for x in xs], "y": torch.tensor(ys)}'
    pooled = 'torch.stack([one.mean(0) for one in net(b["x"]).split(b["n"])]).squeeze(-1)'
    assert not levels(batch, f'({pooled} - b["y"]).pow(2).mean()', 'len(b["y"])')


@pytest.mark.parametrize(
    ("collate", "told"),
    [
        ("graphs.collate", {"WARNING"}),
        ("torch.utils.data.default_collate", set()),
        ("transformers.default_data_collator", set()),
    ],
)
def test_a_collate_function_that_cannot_be_read_is_warned_of(collate: str, told: set[str]) -> None:
    text = SCRIPT.replace("import itertools", "import itertools, graphs, transformers")
    text = text.replace("collate_fn=collate", f"collate_fn={collate}").replace("{count}", "1")
    text = text.replace("{batch}", "xs").replace("{loss}", LOSS)
    found = convert(text, Options(shard="data"), path="train.py").findings
    assert {each.level.name for each in found if each.code == "PT220"} == told


BY_SEQUENCE = 'nn.functional.ctc_loss(net(b["x"]).transpose(0, 1), b["labels"], b["n"], b["n"])'
BY_LAYER = BY_SEQUENCE.replace("nn.functional.ctc_loss", "nn.CTCLoss()")


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (BY_SEQUENCE, set()),
        (BY_LAYER, set()),
        (f'{BY_SEQUENCE} + (net(b["x"]).mean() - b["labels"]).pow(2).mean()', {"ERROR"}),
    ],
)
def test_labels_of_losses_by_sequence_are_joined_for_them_alone(loss: str, told: set[str]) -> None:
    x = "torch.stack([pad(x, 7) for x in xs])"
    labels = '"labels": torch.cat([x[:, 0].long() for x in xs])'
    batch = f'{{"x": {x}, {labels}, "n": torch.tensor([len(x) for x in xs])}}'
    assert levels(batch, loss, "1") == told
