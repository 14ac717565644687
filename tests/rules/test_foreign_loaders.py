"""Loaders that calls out of the project make."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_way import convert
from ranks import run_ranks
from single_rule import plan_of

from transpile import Level, Options, Outcome, Result

SCRIPT = """\
import json
import package
import torch
import torch.nn as nn

torch.manual_seed(0)
{made}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in {drawn}:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(sum((model(x).argmax(1) == y).sum().item() for x, y in {tested}))
"""
BOTH = "train, test = package.get_loaders(16)"


def result(made: str = BOTH, drawn: str = "train", tested: str = "test") -> Result:
    return convert(SCRIPT.format(made=made, drawn=drawn, tested=tested))


@pytest.mark.parametrize(
    ("made", "drawn", "line"),
    [
        (BOTH, "train", "train = shard_unknown_loader(train)"),
        (BOTH, "enumerate(train)", "train = shard_unknown_loader(train)"),
        (
            "train = package.Data(16).loader(True)\ntest = package.Data(16).loader(False)",
            "train",
            "train = shard_unknown_loader(train)",
        ),
        (
            "loaders = package.get_loaders(16)\ntrain, test = loaders['train'], loaders['test']",
            "train",
            "train = shard_unknown_loader(train)",
        ),
    ],
)
def test_the_loader_that_trains_is_rebuilt(made: str, drawn: str, line: str) -> None:
    found = result(made, drawn)
    assert found.outcome is Outcome.CONVERTED
    assert line in found.text
    assert "shard_unknown_loader(test)" not in found.text
    assert [f.code for f in found.findings if f.level is Level.WARNING] == ["PT213"]
    again = convert(found.data, Options(respect_distributed=False))
    assert again.text == found.text


@pytest.mark.parametrize(
    "made",
    [
        "train = test = json.load(open('batches.json'))",
        "train = test = torch.load('batches.pt')",
        "train, test = torch.load('batches.pt').split(2)",
    ],
)
def test_data_that_is_no_loader_is_not_taken_for_one(made: str) -> None:
    found = result(made)
    assert found.outcome is Outcome.REFUSED
    assert "PT213" not in {finding.code for finding in found.findings}


def test_a_loader_without_a_variable_is_refused() -> None:
    found = result("data = package.Data(16)", "data.train", "data.test")
    assert found.outcome is Outcome.REFUSED
    assert "PT206" in {finding.code for finding in found.findings}


@pytest.mark.parametrize("drawn", ["train + test", "reversed(train)"])
def test_what_is_computed_from_a_loader_is_not_taken_for_it(drawn: str) -> None:
    found = result(drawn=drawn)
    assert found.outcome is Outcome.REFUSED
    assert "PT213" not in {finding.code for finding in found.findings}


def test_only_loops_draw_from_a_loader() -> None:
    text = SCRIPT.format(made=BOTH, drawn="train", tested="test")
    plan = plan_of(text.replace("model =", "if train:\n    train.note = 'kept'\nmodel ="))
    assert [loader.training for loader in plan.loaders] == [True, False]
    for loader in plan.loaders:
        assert [event.kind for event in loader.iterations] == ["iterate"]


RUN = """\
import torch
import torch.distributed as dist
from torch.utils.data import (
    BatchSampler, DataLoader, IterableDataset, RandomSampler, Sampler, SubsetRandomSampler,
    TensorDataset, WeightedRandomSampler,
)
{helpers}


class Own(Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        return iter(range(24))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(24))


class Marked(DataLoader):
    pass


class Repeating(DataLoader):
    def __iter__(self):
        return super().__iter__()


class Moving:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return iter(self.loader)


def drawn_by(sampler, steps, count):
    loader = Marked(points, 8, sampler=sampler, drop_last=True)
    loader.note = "kept"
    shared = shard_unknown_loader(loader)
    assert type(shared) is Marked and shared.note == "kept" and shared.drop_last
    assert (loader.batch_size, shared.batch_size) == (8, 4)
    assert len(loader) == len(shared) == steps
    return gathered(shared, steps, count)


def gathered(loader, steps, count):
    drawn = [None, None]
    dist.all_gather_object(drawn, [batch[0].tolist() for batch in loader])
    batches = [first + second for first, second in zip(*drawn)]
    assert [len(batch) for batch in batches] == [8] * steps
    assert len(set(sum(batches, []))) == count, batches
    return batches


torch.manual_seed(dist.get_rank())
points = TensorDataset(torch.arange(24))
assert [sorted(b) for b in drawn_by(None, 3, 24)] == [list(range(i, i + 8)) for i in (0, 8, 16)]
drawn_by(RandomSampler(points), 3, 24)
drawn_by(SubsetRandomSampler(range(0, 24, 3)), 1, 8)
drawn_by(WeightedRandomSampler([1.0] * 2 + [0.0] * 22, 16), 2, 2)
moving = Moving(DataLoader(points, 8))
assert gathered(shard_unknown_loader(moving), 3, 24) and moving.loader.batch_size == 8
for loader in (
    DataLoader(points, 8, sampler=Own()),
    DataLoader(points, batch_sampler=[[0, 1], [2, 3]]),
    DataLoader(points, 7),
    DataLoader(Stream(), 8),
    Repeating(points, 8),
    [points[:8]],
    Moving([points[:8]]),
):
    try:
        shard_unknown_loader(loader)
    except SystemExit as error:
        if dist.get_rank() == 0:
            print(error)
dist.barrier()
dist.destroy_process_group()
"""
SAID = """\
the Own of a DataLoader is not known: make a DataLoader with a sampler that shares its indices out
a DataLoader that makes its batches in its own way cannot be sharded: train from a DataLoader \
over a dataset with indices instead
batch size 7 is not divisible by 2 processes: the nearest that is: 8
a DataLoader that makes its batches in its own way cannot be sharded: train from a DataLoader \
over a dataset with indices instead
a Repeating that makes its batches in its own way cannot be sharded: train from a DataLoader \
over a dataset with indices instead
a list cannot be sharded: train from a DataLoader instead
a Moving cannot be sharded: train from a DataLoader instead
"""


def test_what_is_rebuilt_draws_the_batches_of_one_process(tmp_path: Path) -> None:
    """Two processes together draw what one would, or are told why they cannot."""
    text = result().text
    helpers = text[: text.index("\ntorch.manual_seed(0)")].replace("import package\n", "")
    script = tmp_path / "run.py"
    script.write_text(RUN.format(helpers=helpers))
    ranks = run_ranks(script, 2)
    assert [rank.status for rank in ranks] == [0, 0], ranks
    assert ranks[0].output == SAID
