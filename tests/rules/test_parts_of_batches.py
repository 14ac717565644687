"""Models that are given a batch as the loader delivers it: its parts are no samples."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from anywhere import Foreign


class Pairs(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        return torch.ones(4) * i, torch.ones(1)


class Dicts(Pairs):
    def __getitem__(self, i):
        return {{"x": torch.ones(4) * i, "y": {{"of": torch.ones(1)}}}}


class Single(Pairs):
    def __getitem__(self, i):
        x = torch.ones(4) * i
        return x * x.sum()


def collate(samples):
    return torch.stack([x for x, _ in samples]), torch.stack([y for _, y in samples])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)

    def training_step(self, batch):
        {taken}
        return nn.functional.mse_loss(self(x), y)


x = torch.randn(48, 4)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for {target} in {source}:
    loss = model.training_step(batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OF_MODELS = ("PT413", "PT414")
UNPACKED, BY_PLACE = "x, y = batch", "x, y = batch[0], batch[1]"
BY_KEY = 'x, y = batch["x"], batch["y"]["of"]'
PICKED = "x, y = batch - batch[0], batch[:, :1]"


def said(taken: str, source: str, target: str = "batch") -> list[str]:
    """What is said of the model, with batches sharded."""
    text = SCRIPT.format(taken=taken, source=source, target=target)
    found = convert(text).findings
    return [f"{one.code} {one.message}" for one in found if one.code in OF_MODELS]


def loader(data: str, more: str = "") -> str:
    """A loader of a data set."""
    return f"DataLoader({data}, batch_size=6{more})"


@pytest.mark.parametrize(
    ("taken", "source"),
    [
        (UNPACKED, loader("TensorDataset(x, x[:, :1])")),
        (BY_PLACE, loader("TensorDataset(x, x[:, :1])")),
        (BY_PLACE, loader("Subset(TensorDataset(x, x[:, :1]), range(24))")),
        (BY_PLACE, loader("ConcatDataset([Pairs(), Pairs()])")),
        (UNPACKED, loader("Pairs()")),
        (BY_PLACE, loader("Pairs()", ", collate_fn=collate")),
        (BY_PLACE, loader("[(v, v[:1]) for v in x]")),
        (BY_KEY, loader("Dicts()")),
        ('x = batch.get("x")\n        y = batch["y"]["of"]', loader("Dicts()")),
        (BY_KEY, loader("Foreign()")),
        (UNPACKED, loader("Foreign()")),
    ],
)
def test_parts_of_a_batch_are_no_samples(taken: str, source: str) -> None:
    assert said(taken, source) == []


def test_batches_are_counted_beside() -> None:
    source = f"enumerate({loader('Pairs()')})"
    assert said(BY_PLACE, source, "i, batch") == []


@pytest.mark.parametrize("source", [loader("Single()"), loader("Foreign()")])
def test_a_sample_that_is_picked_is_told(source: str) -> None:
    (only,) = said(PICKED, source)
    assert only.startswith("PT413") and "one sample is picked" in only


def test_a_sample_of_a_part_that_is_picked_is_told() -> None:
    (only,) = said("x, y = batch\n        x = x - x[0]", loader("Pairs()"))
    assert only.startswith("PT413") and "one sample is picked" in only


def test_what_is_not_known_of_a_place_is_said() -> None:
    (only,) = said(BY_PLACE, loader("Foreign()"))
    assert only.startswith("PT414") and "a sample or a part of the batch" in only


GRAPHS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

graphs = [(torch.randn(5, 3), torch.randint(0, 5, (2, 9)), i % 2) for i in range(32)]


def collate(gs):
    xs = torch.cat([x for x, _, _ in gs])
    es = torch.cat([e + 5 * i for i, (_, e, _) in enumerate(gs)], 1)
    return xs, es, torch.tensor([y for _, _, y in gs])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, e):
        h = self.fc(x)
        h = h + {picked}
        return h.view(-1, 5, 2).mean(1)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, e, y in DataLoader(graphs, batch_size=8, collate_fn=collate):
    loss = nn.functional.cross_entropy(model(x, e), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("picked", "code", "words"),
    [
        ("torch.zeros_like(h).index_add(0, e[1], h[e[0]])", "PT414", "places that the batch holds"),
        ("h.index_select(0, e[0])", "PT414", "places that the batch holds"),
        ("h[h.argmax(1)]", "PT413", "places that samples name"),
        ("h[0]", "PT413", "one sample is picked"),
    ],
)
def test_places_in_a_batch_are_told_from_samples(picked: str, code: str, words: str) -> None:
    found = [one for one in convert(GRAPHS.format(picked=picked)).findings if one.code in OF_MODELS]
    assert [one.code for one in found] == [code]
    assert words in found[0].message
